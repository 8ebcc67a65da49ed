"""Files of audio in every format: whole or not at all, and what is missing is named."""

from __future__ import annotations

import stat
import sys
from pathlib import Path

import numpy as np
import pytest
import soundfile

from kokoro_tvm.errors import InputError
from kokoro_tvm.runtime import write_wav
from kokoro_tvm.runtime.writers import Mark, audio_format, check_audio_file, ffmpeg, write_audio

RATE = 24000
TONE = (0.5 * np.sin(2 * np.pi * 440 * np.arange(RATE) / RATE)).astype(np.float32)
BLOCKS = [TONE[:100], TONE[100:9000], TONE[9000:]]


def test_wav_is_that_of_write_wav(tmp_path: Path) -> None:
    write_audio(tmp_path / "a.wav", BLOCKS, RATE)
    write_wav(tmp_path / "b.wav", TONE, RATE)
    assert (tmp_path / "a.wav").read_bytes() == (tmp_path / "b.wav").read_bytes()


@pytest.mark.parametrize(("name", "snr"), [("a.flac", 60), ("a.mp3", 10), ("a.opus", 10), ("a.OGG", 10)])
def test_encoded(tmp_path: Path, name: str, snr: float) -> None:
    write_audio(tmp_path / name, BLOCKS, RATE, title="A tone")
    audio, rate = soundfile.read(tmp_path / name, dtype="float32")
    assert rate == RATE
    assert abs(audio.size - TONE.size) < 0.1 * RATE
    offset = max(
        range(0, 3000, 1),
        key=lambda n: float(np.dot(audio[n : n + 4000], TONE[:4000])) if n + 4000 <= audio.size else -1,
    )
    part = audio[offset : offset + 12000]
    error = part - TONE[: part.size]
    assert 10 * np.log10(np.mean(part**2) / np.mean(error**2)) > snr
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_what_is_too_loud_is_clipped_not_wrapped(tmp_path: Path) -> None:
    write_audio(tmp_path / "a.flac", [np.array([2.0, -3.0, 0.5], np.float32)], RATE)
    audio, _ = soundfile.read(tmp_path / "a.flac", dtype="float32")
    np.testing.assert_allclose(audio, [1.0, -1.0, 0.5], atol=1e-4)


def program(tmp_path: Path, code: str) -> None:
    path = tmp_path / "bin" / "ffmpeg"
    path.parent.mkdir()
    path.write_text(f"#!{sys.executable}\nimport sys\nfrom pathlib import Path\n{code}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


ENCODE = """
words = sys.argv
data = sys.stdin.buffer.read()
chapters = Path(words[words.index("ffmetadata") + 2]).read_text(encoding="utf-8")
Path(words[-1]).write_text(f"{len(data)}\\n{chapters}", encoding="utf-8")
"""


def test_m4b_has_chapters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(tmp_path, ENCODE)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    marks = [Mark("One; =2", 0, 12000), Mark("Two", 12000, 24000)]
    write_audio(tmp_path / "a.m4b", BLOCKS, RATE, title="Book", marks=marks)
    size, *lines = (tmp_path / "a.m4b").read_text().splitlines()
    assert int(size) == 4 * RATE
    assert lines[:2] == [";FFMETADATA1", "title=Book"]
    assert lines[2:7] == ["[CHAPTER]", "TIMEBASE=1/24000", "START=0", "END=12000", "title=One\\; \\=2"]
    assert lines[11] == "title=Two"


def test_what_ffmpeg_says_is_passed_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(tmp_path, "print('first'); print('no such codec'); sys.exit(3)")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    with pytest.raises(InputError, match=r"cannot be written: ffmpeg: no such codec"):
        write_audio(tmp_path / "a.m4b", [np.zeros(1 << 20, np.float32)], RATE)
    assert not list(tmp_path.glob("*.m4b")) + list(tmp_path.glob(".*"))


def test_missing_encoders_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    monkeypatch.setitem(sys.modules, "soundfile", None)
    for name, message in (("a.m4b", "pip install imageio-ffmpeg"), ("a.mp3", "pip install soundfile")):
        with pytest.raises(InputError, match=message):
            check_audio_file(tmp_path / name)


def test_formats(tmp_path: Path) -> None:
    assert (audio_format("a.x", "MP3"), audio_format("a.Flac")) == ("mp3", "flac")
    for name in ("a.xyz", "a"):
        with pytest.raises(InputError, match="audio is written as wav, flac"):
            audio_format(name)
    with pytest.raises(InputError, match="does not exist"):
        check_audio_file(tmp_path / "no" / "a.wav")
    assert ffmpeg.metadata("a", 1, []) == ";FFMETADATA1\ntitle=a\n"


def test_nothing_half_written(tmp_path: Path) -> None:
    def broken():  # type: ignore[no-untyped-def]
        yield TONE
        raise RuntimeError("stop")

    for name in ("a.wav", "a.flac"):
        with pytest.raises(RuntimeError, match="stop"):
            write_audio(tmp_path / name, broken(), RATE)
    assert list(tmp_path.iterdir()) == []
