"""WAV by this package alone. Files have 32-bit floats: nothing is clipped; equal audio gives equal bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import BinaryIO

import numpy as np

from kokoro_tvm.documents.writers.base import Floats, Mark, Writer
from kokoro_tvm.runtime.speech.wav import header

__all__ = ["WRITER", "begin"]


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


WRITER = Writer(check=lambda: None, write=_write)
