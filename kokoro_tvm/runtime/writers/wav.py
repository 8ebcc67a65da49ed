"""WAV of 32-bit floats, by this package alone: nothing is clipped, and equal audio gives equal bytes."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from kokoro_tvm.errors import InputError
from kokoro_tvm.runtime.writers.base import Floats, Mark, Writer

__all__ = ["WRITER", "header"]

LARGEST = (1 << 32) - 1024  # bytes; sizes in a WAV file have 32 bits
_FORMAT_IEEE_FLOAT = 3


def header(samples: int, sample_rate: int) -> bytes:
    """What stands before the samples. Raises InputError for more than a WAV file can hold."""
    size = 4 * samples
    if size > LARGEST:
        raise InputError(
            f"{samples / sample_rate:.0f} s of audio do not fit into one WAV file. Write FLAC, or speak less."
        )
    layout = struct.pack("<HHIIHHH", _FORMAT_IEEE_FLOAT, 1, sample_rate, sample_rate * 4, 4, 32, 0)
    chunks = _chunk(b"fmt ", layout)
    chunks += _chunk(b"fact", struct.pack("<I", samples)) + struct.pack("<4sI", b"data", size)
    return struct.pack("<4sI4s", b"RIFF", 4 + len(chunks) + size, b"WAVE") + chunks


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
