"""Audio files in every format: complete or absent; errors name a missing encoder."""

from __future__ import annotations

import stat
import struct
import subprocess
import sys
import zlib
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import soundfile

from kokoro_tvm.common.errors import InputError
from kokoro_tvm.runtime import write_wav
from kokoro_tvm.runtime.documents.writers import (
    Mark,
    audio_format,
    chapter_metadata,
    check_audio_file,
    write_audio,
)

RATE = 24000
TONE = (0.5 * np.sin(2 * np.pi * 440 * np.arange(RATE) / RATE)).astype(np.float32)
BLOCKS = [TONE[:100], TONE[100:9000], TONE[9000:]]


def test_write_audio_writes_the_wav_of_write_wav(tmp_path: Path) -> None:
    write_audio(tmp_path / "a.wav", BLOCKS, RATE)
    write_wav(tmp_path / "b.wav", TONE, RATE)
    assert (tmp_path / "a.wav").read_bytes() == (tmp_path / "b.wav").read_bytes()


@pytest.mark.parametrize(("name", "snr"), [("a.flac", 60), ("a.mp3", 10), ("a.opus", 10), ("a.OGG", 10)])
def test_write_audio_encodes_every_format(tmp_path: Path, name: str, snr: float) -> None:
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


def test_write_audio_clips_loud_samples(tmp_path: Path) -> None:
    write_audio(tmp_path / "a.flac", [np.array([2.0, -3.0, 0.5], np.float32)], RATE)
    audio, _ = soundfile.read(tmp_path / "a.flac", dtype="float32")
    np.testing.assert_allclose(audio, [1.0, -1.0, 0.5], atol=1e-4)


def program(tmp_path: Path, code: str) -> None:
    path = tmp_path / "bin" / "ffmpeg"
    path.parent.mkdir()
    path.write_text(f"#!{sys.executable}\nimport sys\nfrom pathlib import Path\n{code}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


@pytest.mark.slow("needs ffmpeg, which imageio-ffmpeg brings")
def test_write_audio_writes_chapters_to_m4b(tmp_path: Path) -> None:
    import imageio_ffmpeg

    marks = [Mark("One; =2", 0, 12000), Mark("Zwei – två", 12000, 24000)]
    write_audio(tmp_path / "a.m4b", BLOCKS, RATE, title="Book", marks=marks)
    assert [path.name for path in tmp_path.iterdir()] == ["a.m4b"]
    command = [imageio_ffmpeg.get_ffmpeg_exe(), "-v", "error", "-i", str(tmp_path / "a.m4b")]
    decoded = subprocess.run([*command, "-f", "f32le", "-"], capture_output=True, check=True).stdout
    audio = np.frombuffer(decoded, "<f4")
    assert abs(audio.size - TONE.size) < 0.1 * RATE
    spectrum = np.abs(np.fft.rfft(audio[4000:20000]))
    assert abs(spectrum.argmax() * RATE / 16000 - 440) < 2
    lines = subprocess.run(
        [*command, "-f", "ffmetadata", "-"], capture_output=True, check=True, encoding="utf-8"
    ).stdout.splitlines()
    assert "title=Book" in lines
    chapters = [number for number, line in enumerate(lines) if line == "[CHAPTER]"]
    values = [dict(line.split("=", 1) for line in lines[n + 1 : n + 5]) for n in chapters]
    assert [value["title"] for value in values] == ["One\\; \\=2", "Zwei – två"]
    seconds = [int(value["END"]) * Fraction(value["TIMEBASE"]) for value in values]
    assert seconds == [Fraction(1, 2), 1]


@pytest.mark.slow("needs ffmpeg, which imageio-ffmpeg brings")
@pytest.mark.parametrize("name", ["a.m4b", "a.mp3"])
def test_write_audio_writes_author_cover_and_chapters(tmp_path: Path, name: str) -> None:
    import imageio_ffmpeg

    marks = [Mark("One", 0, 12000), Mark("Two", 12000, 24000)]
    cover = zlib.compress(b"\0" + b"\xff\0\0" * 8)  # of one row
    png = b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
        for kind, body in (
            (b"IHDR", struct.pack(">IIBBBBB", 8, 1, 8, 2, 0, 0, 0)),
            (b"IDAT", cover),
            (b"IEND", b""),
        )
    )
    write_audio(tmp_path / name, BLOCKS, RATE, title="Book", marks=marks, author="A. Writer", cover=png)
    command = [imageio_ffmpeg.get_ffmpeg_exe(), "-v", "error", "-i", str(tmp_path / name)]
    metadata = subprocess.run([*command, "-f", "ffmetadata", "-"], capture_output=True, check=True).stdout
    assert b"artist=A. Writer" in metadata and b"title=Book" in metadata
    assert metadata.count(b"[CHAPTER]") == 2
    image = subprocess.run(
        [*command, "-map", "0:v", "-c", "copy", "-f", "image2pipe", "-"], capture_output=True, check=True
    ).stdout
    assert image == png


@pytest.mark.parametrize("rate", [8000, 48000])
def test_write_audio_converts_the_sample_rate(tmp_path: Path, rate: int) -> None:
    write_audio(tmp_path / "a.flac", BLOCKS, RATE, target_rate=rate)
    audio, written = soundfile.read(tmp_path / "a.flac", dtype="float32")
    assert written == rate and abs(audio.size - rate) <= 2
    spectrum = np.abs(np.fft.rfft(audio[: rate // 2]))
    assert abs(spectrum.argmax() * 2 - 440) <= 2


def test_write_audio_passes_on_the_message_of_ffmpeg(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(tmp_path, "print('first'); print('no such codec'); sys.exit(3)")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    with pytest.raises(InputError, match=r"cannot be written: ffmpeg: no such codec"):
        write_audio(tmp_path / "a.m4b", [np.zeros(1 << 20, np.float32)], RATE)
    assert not list(tmp_path.glob("*.m4b")) + list(tmp_path.glob(".*"))


def test_check_audio_file_names_a_missing_encoder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    monkeypatch.setitem(sys.modules, "soundfile", None)
    for name, message in (("a.m4b", "pip install imageio-ffmpeg"), ("a.mp3", "pip install soundfile")):
        with pytest.raises(InputError, match=message):
            check_audio_file(tmp_path / name)


def test_audio_format_prefers_the_argument_to_the_suffix(tmp_path: Path) -> None:
    assert (audio_format("a.x", "MP3"), audio_format("a.Flac")) == ("mp3", "flac")
    for name in ("a.xyz", "a"):
        with pytest.raises(InputError, match="audio is written as wav, flac"):
            audio_format(name)
    with pytest.raises(InputError, match="does not exist"):
        check_audio_file(tmp_path / "no" / "a.wav")
    assert chapter_metadata("a", 1, []) == ";FFMETADATA1\ntitle=a\n"
    assert "\nartist=b\n" in chapter_metadata("a", 1, [], "b")


def test_write_audio_leaves_no_partial_file(tmp_path: Path) -> None:
    def broken():  # type: ignore[no-untyped-def]
        yield TONE
        raise RuntimeError("stop")

    for name in ("a.wav", "a.flac"):
        with pytest.raises(RuntimeError, match="stop"):
            write_audio(tmp_path / name, broken(), RATE)
    assert list(tmp_path.iterdir()) == []
