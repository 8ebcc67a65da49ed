"""Voice files in libkokoro compared with Python: speech and refusals."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from calls import Speaker, durations
from toy_bundle import STYLE, edit_manifest, file_entry, write_safetensors

from kokoro_tvm import Synthesizer
from kokoro_tvm.common.errors import InputError
from kokoro_tvm.runtime import write_wav

WIDTH = 2 * STYLE
TABLE = np.random.default_rng(3).standard_normal((510, WIDTH)).astype("<f4")


def save(path: Path, values: np.ndarray) -> Path:
    values.astype("<f4").tofile(path)
    return path


@pytest.mark.parametrize("rows", [510, 1])
@pytest.mark.parametrize("voice", [None, "mine", "af_heart(2)+mine-am_adam(.5)", "mine,bf_emma"])
def test_added_voice_speaks_as_in_python(
    speaker: Speaker, compiled: Callable[[str], Path], tmp_path: Path, voice: str | None, rows: int
) -> None:
    path = save(tmp_path / "mine.bin", TABLE[:rows])
    words = () if voice is None else ("--voice", voice)
    result = speaker(
        compiled("exact"), "--phonemes", "abc.", "--add", str(path), *words, "--durations", seed=3
    )
    assert result.status == 0, result.errors
    tts = Synthesizer(compiled("exact"), threads=1, voices=path)
    speech = tts.from_phonemes("abc.", voice=voice or "mine", seed=3)
    write_wav(tmp_path / "expected.wav", speech.audio, speech.sample_rate)
    assert result.lines == [durations(speech)]
    assert result.wav == (tmp_path / "expected.wav").read_bytes()


def nan(row: int) -> np.ndarray:
    table = TABLE.copy()
    table[row, 1] = np.nan
    return table


def loud(row: int) -> np.ndarray:
    table = TABLE.copy()
    table[row] = 1e4
    return table


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("mine.bin", np.ones(7)),
        ("mine.bin", np.ones(0)),
        ("mine.bin", np.zeros(WIDTH)),
        ("mine.bin", nan(17)),
        ("mine.bin", loud(509)),
        ("mine.bin", np.full(WIDTH, 3e38)),
        ("af_heart.bin", TABLE),
        ("mine.bin", np.frombuffer(b"PK\3\4", "<f4")),
    ],
)
def test_add_voice_refuses_what_python_refuses(
    speaker: Speaker, compiled: Callable[[str], Path], tmp_path: Path, name: str, values: np.ndarray
) -> None:
    path = save(tmp_path / name, values)
    with pytest.raises(InputError) as refused:
        Synthesizer(compiled("exact"), threads=1, voices=path)
    result = speaker(compiled("exact"), "--phonemes", "a", "--add", str(path))
    assert (result.status, result.errors) == (2, f"speak: {refused.value}\n")


def test_add_voice_refuses_other_files(
    speaker: Speaker, compiled: Callable[[str], Path], tmp_path: Path
) -> None:
    def refused(path: Path) -> str:
        result = speaker(compiled("exact"), "--phonemes", "a", "--add", str(path))
        assert result.status == 2
        return result.errors.removeprefix("speak: ").rstrip()

    (tmp_path / "odd.bin").write_bytes(b"abc")
    (tmp_path / "folder.bin").mkdir()
    os.mkfifo(tmp_path / "pipe.bin")
    with (tmp_path / "large.bin").open("wb") as file:
        file.truncate(2_000_000_000)
    (tmp_path / "zero.bin").symlink_to("/dev/zero")
    assert refused(tmp_path / "odd.bin").endswith("odd.bin has 3 bytes, and float32 values have 4 each.")
    for name in ("folder", "pipe", "zero"):
        assert refused(tmp_path / f"{name}.bin").endswith(f"{name}.bin is not a regular file.")
    assert refused(tmp_path / "large.bin").endswith(
        "has 2000 MB, and no voice has more than 67. Is it the right file? It was not read."
    )
    assert refused(tmp_path / "none.bin") == f"There is no {tmp_path / 'none.bin'}. Name a file of a voice."
    assert "these end in .bin here. `kokoro-tvm voices mix NAME -o NAME.bin`" in refused(tmp_path / "x.pt")
    for name in ("a-b", "", "ä", "a" * 65):
        assert ": a voice cannot be called so, because" in refused(tmp_path / f"{name}.bin")


def test_first_voice_is_the_default_without_af_heart(
    speaker: Speaker, compiled: Callable[[str], Path], tmp_path: Path
) -> None:
    bundle = Path(shutil.copytree(compiled("exact"), tmp_path / "bundle"))
    write_safetensors(bundle / "voices.safetensors", {"bernd": TABLE, "anna": TABLE[::-1]})
    entry = file_entry(bundle / "voices.safetensors")
    edit_manifest(bundle, lambda manifest: manifest.update(voices=entry))
    result = speaker(bundle, "--phonemes", "abc.", "--durations")
    assert (result.status, result.errors) == (0, "")
    assert result.lines == [durations(Synthesizer(bundle, threads=1).from_phonemes("abc.", voice="anna"))]
