"""Audio files: WAV and G.711 by this package, FLAC, MP3 and Opus by soundfile, M4B by ffmpeg.

WAV files have 32-bit floats: nothing is clipped, and equal audio gives equal bytes.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias

import numpy as np
from numpy.typing import NDArray

from kokoro_tvm.common.constants import SAMPLE_RATE
from kokoro_tvm.common.errors import InputError
from kokoro_tvm.common.output import check_place, is_stream, whole_file
from kokoro_tvm.runtime.speech.resampling import (
    TELEPHONE_RATE,
    Resampler,
    encode_alaw,
    encode_ulaw,
    resample,
)
from kokoro_tvm.runtime.speech.wav import header

_Floats: TypeAlias = NDArray[np.float32]
_M4B = ("-c:a", "aac", "-b:a", "64k", "-f", "ipod", "-movflags", "+faststart")  # transparent for one voice
_MP3_BITRATE = "64k"


@dataclass(frozen=True)
class Mark:
    """A chapter of an audio file: its title and its samples, as a slice."""

    title: str
    start: int
    end: int


def audio_format(path: str | Path, format: str | None = None) -> str:
    """Return the format of a file: `format`, else its suffix, else WAV if it is a stream.

    Raises:
        InputError: it is none of FORMATS.
    """
    name = (format or Path(path).suffix.lstrip(".")).lower()
    if not name and is_stream(Path(path)):
        return "wav"
    if name not in FORMATS:
        description = f"the format {name!r}" if format or name else "no suffix"
        raise InputError(f"{path}: audio is written as {', '.join(FORMATS)}, but this has {description}.")
    return name


def check_audio_file(path: str | Path, format: str | None = None, sample_rate: int | None = None) -> str:
    """Return the format of a file, before time is spent on synthesis.

    Raises:
        InputError: the file cannot be written, its encoder is not installed, or it has no such sample rate.
    """
    name = audio_format(path, format)
    check_place(Path(path))
    check_encoder, _ = _WRITERS[name]
    check_encoder()
    if sample_rate is not None:
        Resampler(SAMPLE_RATE, sample_rate)
        if name in ("opus", "ogg") and sample_rate in (22050, 44100):
            raise InputError(f"Opus has no sample rate of {sample_rate} Hz. Choose 24000 or 48000.")
    return name


def has_ffmpeg() -> bool:
    """Return whether ffmpeg is installed, which writes chapters and covers of MP3."""
    try:
        _ffmpeg()
    except InputError:
        return False
    return True


def write_audio(
    path: str | Path,
    blocks: Iterable[_Floats],
    sample_rate: int,
    format: str | None = None,
    title: str = "",
    marks: Iterable[Mark] = (),
    author: str = "",
    cover: bytes = b"",
    target_rate: int | None = None,
) -> None:
    """Write mono audio; the file appears whole or not at all.

    Args:
        path: `-` is standard output.
        blocks: float32 (samples,) each. Formats that cannot hold values beyond 1 clip them.
        sample_rate: in Hz.
        format: one of FORMATS; None: by the suffix.
        title: of the whole file.
        marks: chapters, which M4B has, and MP3 if ffmpeg is installed.
        author: of the whole file.
        cover: JPEG or PNG, as chapters.
        target_rate: sample rate of the file, in Hz; None: 8000 for G.711, else `sample_rate`.

    Raises:
        InputError: the format is unknown, its encoder is not installed, or the file cannot be written.
    """
    name = audio_format(path, format)
    _, write = _WRITERS[name]
    path = Path(path)
    check_place(path)
    rate = target_rate or (TELEPHONE_RATE if name in ("ulaw", "alaw") else sample_rate)
    scaled = [Mark(m.title, m.start * rate // sample_rate, m.end * rate // sample_rate) for m in marks]
    audio = _Audio(resample(blocks, sample_rate, rate), rate, title, scaled, author, cover)
    with whole_file(path) as temporary:
        write(temporary, audio)


def begin_wav(stream: BinaryIO, sample_rate: int) -> Callable[[_Floats], None]:
    """Write a header without a length, and return a function that writes and flushes a block of samples."""

    def write(data: bytes) -> None:
        stream.write(data)
        stream.flush()

    write(header(None, sample_rate))
    return lambda block: write(_bytes(block))


def chapter_metadata(title: str, sample_rate: int, marks: Sequence[Mark], author: str = "") -> str:
    """Return title, author and chapters in ffmpeg's format FFMETADATA1."""
    lines = [";FFMETADATA1", f"title={_escaped(title)}"]
    if author:
        lines += [
            f"artist={_escaped(author)}",
            f"album_artist={_escaped(author)}",
            f"album={_escaped(title)}",
        ]
    for mark in marks:
        lines += ["[CHAPTER]", f"TIMEBASE=1/{sample_rate}", f"START={mark.start}", f"END={mark.end}"]
        lines.append(f"title={_escaped(mark.title)}")
    return "\n".join(lines) + "\n"


@dataclass(frozen=True)
class _Audio:
    blocks: Iterable[_Floats]
    sample_rate: int
    title: str
    marks: Sequence[Mark]
    author: str
    cover: bytes


def _write_wav(path: Path, audio: _Audio) -> None:
    samples = 0
    with path.open("xb") as stream:
        stream.write(header(0, audio.sample_rate))
        for block in audio.blocks:
            samples += block.size
            stream.write(_bytes(block))
        size = stream.tell()
        stream.seek(0)
        head = header(samples, audio.sample_rate)
        stream.write(head)
    if size != len(head) + 4 * samples:
        raise InputError(
            f"{path} has {size} bytes, not those of {samples} samples. Run the same command again."
        )


def _write_sound(container: str, subtype: str, path: Path, audio: _Audio) -> None:
    soundfile = _soundfile()
    try:
        with soundfile.SoundFile(path, "x", audio.sample_rate, 1, format=container, subtype=subtype) as file:
            if audio.title:
                file.title = audio.title
            if audio.author:
                file.artist = audio.author
            for block in audio.blocks:
                file.write(block)
    except soundfile.LibsndfileError as error:
        raise InputError(f"{path} cannot be written: {error}.") from error


def _write_mp3(path: Path, audio: _Audio) -> None:
    if (audio.cover or len(audio.marks) > 1) and has_ffmpeg():
        _write_ffmpeg(
            ("-c:a", "libmp3lame", "-b:a", _MP3_BITRATE, "-id3v2_version", "3", "-f", "mp3"), path, audio
        )
    else:
        _write_sound("MP3", "MPEG_LAYER_III", path, audio)


def _write_g711(encode: Callable[[_Floats], bytes], path: Path, audio: _Audio) -> None:
    with path.open("xb") as stream:
        stream.writelines(map(encode, audio.blocks))


def _write_ffmpeg(encoding: Sequence[str], path: Path, audio: _Audio) -> None:
    import subprocess  # here, so that `import kokoro_tvm.runtime` stays fast
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        chapters = Path(folder) / "chapters.txt"
        chapters.write_text(
            chapter_metadata(audio.title, audio.sample_rate, audio.marks, audio.author), encoding="utf-8"
        )
        errors = Path(folder) / "errors.txt"
        command = [_ffmpeg(), "-nostdin", "-v", "error", "-y"]
        command += ["-f", "f32le", "-ar", str(audio.sample_rate), "-ac", "1", "-i", "pipe:0"]
        command += ["-f", "ffmetadata", "-i", str(chapters)]
        if audio.cover:
            cover = Path(folder) / "cover"
            cover.write_bytes(audio.cover)
            command += ["-i", str(cover), "-map", "2:v", "-c:v", "copy", "-disposition:v", "attached_pic"]
        command += ["-map", "0:a", "-map_metadata", "1", *encoding, str(path.absolute())]
        with errors.open("wb") as log:
            process = subprocess.Popen(command, stdin=subprocess.PIPE, stderr=log, stdout=log)
            assert process.stdin is not None
            try:
                for block in audio.blocks:
                    process.stdin.write(_bytes(block))
                process.stdin.close()
            except BrokenPipeError:
                pass  # the exit status and the log say why
            except BaseException:
                process.kill()
                raise
            finally:
                status = process.wait()
        if status != 0:
            lines = errors.read_text(errors="replace").strip().splitlines()
            reason = lines[-1] if lines else f"status {status}"
            raise InputError(f"{path.name} cannot be written: {Path(command[0]).name}: {reason}")


def _soundfile() -> Any:
    try:
        return importlib.import_module("soundfile")
    except (ImportError, OSError) as error:  # OSError: the package without its library
        raise InputError(
            f"Writing FLAC, MP3 and Opus needs soundfile, which cannot be imported ({error}). "
            "Run `pip install soundfile`, or write WAV."
        ) from error


def _ffmpeg() -> str:
    import shutil

    if program := shutil.which("ffmpeg"):
        return program
    try:
        return str(importlib.import_module("imageio_ffmpeg").get_ffmpeg_exe())
    except (ImportError, RuntimeError) as error:
        raise InputError(
            "Writing M4B and M4A needs the program ffmpeg, which is not installed. Install it with the "
            "system's packages or `pip install imageio-ffmpeg`, or write FLAC, MP3 or Opus."
        ) from error


def _bytes(block: _Floats) -> bytes:
    return np.ascontiguousarray(block, "<f4").tobytes()


def _escaped(text: str) -> str:
    return "".join("\\" + char if char in "=;#\\\n" else char for char in text)


# Format -> (check, which raises InputError without the encoder, writer).
_WRITERS: dict[str, tuple[Callable[[], object], Callable[[Path, _Audio], None]]] = {
    "wav": (lambda: None, _write_wav),
    "flac": (_soundfile, partial(_write_sound, "FLAC", "PCM_16")),
    "mp3": (_soundfile, _write_mp3),
    "opus": (_soundfile, partial(_write_sound, "OGG", "OPUS")),
    "ogg": (_soundfile, partial(_write_sound, "OGG", "OPUS")),
    "m4b": (_ffmpeg, partial(_write_ffmpeg, _M4B)),
    "m4a": (_ffmpeg, partial(_write_ffmpeg, _M4B)),
    "ulaw": (lambda: Resampler(SAMPLE_RATE, TELEPHONE_RATE), partial(_write_g711, encode_ulaw)),
    "alaw": (lambda: Resampler(SAMPLE_RATE, TELEPHONE_RATE), partial(_write_g711, encode_alaw)),
}
FORMATS = tuple(_WRITERS)
"""Names of formats, which are suffixes of files as well."""
