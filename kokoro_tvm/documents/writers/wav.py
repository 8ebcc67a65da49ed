"""WAV by this package alone. Files have 32-bit floats: nothing is clipped; equal audio gives equal bytes."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import BinaryIO

import numpy as np

from kokoro_tvm.documents.writers.base import Floats, Mark, Writer
from kokoro_tvm.errors import InputError

__all__ = ["WRITER", "begin", "header"]

LARGEST = (1 << 32) - 1024  # bytes; sizes in a WAV file have 32 bits
_UNKNOWN = (1 << 32) - 1  # the size of what is not known before it ends, as FFmpeg writes and reads it
_FORMAT_PCM = 1
_FORMAT_IEEE_FLOAT = 3


def header(samples: int | None, sample_rate: int, dtype: str = "<f4") -> bytes:
    """What stands before mono samples of `dtype`, "<f4" or "<i2"; samples: None where not counted yet.

    Raises InputError for more than a WAV file can hold.
    """
    width = np.dtype(dtype).itemsize
    size = _UNKNOWN if samples is None else width * samples
    if samples is not None and size > LARGEST:
        raise InputError(
            f"{samples / sample_rate:.0f} s of audio do not fit into one WAV file. Write FLAC, or speak less."
        )
    numbers = 1, sample_rate, sample_rate * width, width, 8 * width
    if dtype == "<i2":
        chunks = _chunk(b"fmt ", struct.pack("<HHIIHH", _FORMAT_PCM, *numbers))
    else:
        chunks = _chunk(b"fmt ", struct.pack("<HHIIHHH", _FORMAT_IEEE_FLOAT, *numbers, 0))
        chunks += _chunk(b"fact", struct.pack("<I", samples or 0))
    chunks += struct.pack("<4sI", b"data", size)
    whole = min(4 + len(chunks) + size, _UNKNOWN)
    return struct.pack("<4sI4s", b"RIFF", whole, b"WAVE") + chunks


def begin(stream: BinaryIO, sample_rate: int) -> Callable[[Floats], None]:
    """Write the header of samples that are not counted yet; returns what writes a block of them at once."""

    def write(data: bytes) -> None:
        stream.write(data)
        stream.flush()

    write(header(None, sample_rate))
    return lambda block: write(np.ascontiguousarray(block, "<f4").tobytes())


def _write(path: Path, blocks: Iterable[Floats], sample_rate: int, title: str, marks: Sequence[Mark]) -> None:
    del title, marks
    samples = 0
    with path.open("xb") as stream:
        stream.write(header(0, sample_rate))
        for block in blocks:
            data = np.ascontiguousarray(block, "<f4").reshape(-1)
            samples += data.size
            stream.write(data.tobytes())
        stream.seek(0)
        stream.write(header(samples, sample_rate))


def _chunk(name: bytes, body: bytes) -> bytes:
    return struct.pack("<4sI", name, len(body)) + body


WRITER = Writer(check=lambda: None, write=_write)
