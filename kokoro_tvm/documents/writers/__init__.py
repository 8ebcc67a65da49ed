"""Files of audio: one module per way to write them; encoders are imported only where they are used."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from kokoro_tvm.documents.writers import ffmpeg, sound, wav
from kokoro_tvm.documents.writers.base import Floats, Mark, Writer
from kokoro_tvm.errors import InputError
from kokoro_tvm.output import check_place, is_stream, whole_file

__all__ = ["FORMATS", "Mark", "audio_format", "check_audio_file", "write_audio"]

_WRITERS: dict[str, Writer] = {
    "wav": wav.WRITER,
    "flac": sound.FLAC,
    "mp3": sound.MP3,
    "opus": sound.OPUS,
    "ogg": sound.OPUS,
    "m4b": ffmpeg.M4B,
    "m4a": ffmpeg.M4B,
}
FORMATS = tuple(_WRITERS)
"""Names of formats, which are the suffixes of their files as well."""


def audio_format(path: str | Path, format: str | None = None) -> str:
    """The format of a file: `format` if it is given, else by the suffix, else WAV where it is a stream.

    Raises InputError for another.
    """
    name = (format or Path(path).suffix.lstrip(".")).lower()
    if not name and is_stream(Path(path)):
        return "wav"
    if name not in _WRITERS:
        given = f"the format {name!r}" if format or name else "no suffix"
        raise InputError(f"{path}: audio is written as {', '.join(FORMATS)}, but this has {given}.")
    return name


def check_audio_file(path: str | Path, format: str | None = None) -> str:
    """The format, before time is spent on speaking; raises InputError where the file could not be written."""
    name = audio_format(path, format)
    check_place(Path(path))
    _WRITERS[name].check()
    return name


def write_audio(
    path: str | Path,
    blocks: Iterable[Floats],
    sample_rate: int,
    format: str | None = None,
    title: str = "",
    marks: Iterable[Mark] = (),
) -> None:
    """Write mono audio, blocks of float32 (samples,); the file appears whole or not at all.

    `path` may be `-`, standard output. `marks` are the chapters of an M4B. Where a format cannot hold values
    beyond 1, they are clipped. Raises InputError when the format is unknown, its encoder missing, or the file
    cannot be written.
    """
    writer = _WRITERS[audio_format(path, format)]
    path = Path(path)
    check_place(path)
    with whole_file(path) as temporary:
        writer.write(temporary, blocks, sample_rate, title, tuple(marks))
