"""WAV files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import soundfile

from kokoro_tvm.common.errors import InputError
from kokoro_tvm.runtime import write_wav
from kokoro_tvm.runtime.speech import wav


def test_write_wav_round_trips(tmp_path: Path) -> None:
    audio = (np.random.default_rng(0).standard_normal(777) * 2).astype(np.float32)
    write_wav(tmp_path / "a.wav", audio, 24000)
    info = soundfile.info(tmp_path / "a.wav")
    assert (info.subtype, info.channels, info.samplerate, info.frames) == ("FLOAT", 1, 24000, 777)
    assert np.array_equal(
        soundfile.read(tmp_path / "a.wav", dtype="float32")[0], audio
    )  # over 1, not clipped


def test_write_wav_is_deterministic(tmp_path: Path) -> None:
    for name in ("a.wav", "b.wav"):
        write_wav(tmp_path / name, np.ones(5, np.float32), 24000)
    assert (tmp_path / "a.wav").read_bytes() == (tmp_path / "b.wav").read_bytes()


def test_write_wav_leaves_no_partial_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "a.wav"
    target.write_bytes(b"old")

    def fail(self: Path, other: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(InputError, match=r"a\.wav cannot be written: No space left"):
        write_wav(target, np.ones(5, np.float32), 24000)
    assert [path.name for path in tmp_path.iterdir()] == ["a.wav"]
    assert target.read_bytes() == b"old"


@pytest.mark.parametrize(
    ("name", "message"),
    [("no/such/a.wav", "does not exist"), ("", "is a folder"), ("a.mp3", "only WAV is written")],
)
def test_check_output_refuses_unwritable_places(tmp_path: Path, name: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        write_wav(tmp_path / name, np.ones(5, np.float32), 24000)
    assert list(tmp_path.iterdir()) == []


def test_write_wav_refuses_long_audio(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wav, "MAX_BYTES", 100)
    with pytest.raises(InputError, match="do not fit into one WAV"):
        write_wav(tmp_path / "a.wav", np.ones(26, np.float32), 24000)
