"""Float WAV files, written atomically."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kokoro_tvm.common.errors import InputError
from kokoro_tvm.common.output import check_place, whole_file

MAX_BYTES = (1 << 32) - 1024  # sizes in a WAV file have 32 bits
_UNKNOWN_SIZE = (1 << 32) - 1  # as FFmpeg writes and reads it
_FORMAT_PCM = 1
_FORMAT_IEEE_FLOAT = 3
_OTHER_FORMATS = frozenset({".mp3", ".ogg", ".opus", ".flac", ".m4a", ".aac", ".webm"})


def check_output(path: Path) -> None:
    """Check, before the synthesis, that a WAV can be written to `path`; raises InputError."""
    if path.suffix.lower() in _OTHER_FORMATS:
        raise InputError(
            f"{path}: only WAV is written here. Name it {path.with_suffix('.wav')}, or call "
            "kokoro_tvm.runtime.documents.writers.write_audio."
        )
    check_place(path)


def header(samples: int | None, sample_rate: int, dtype: str = "<f4") -> bytes:
    """Return the header of a mono WAV file.

    Args:
        samples: their number; None: unknown.
        sample_rate: in Hz.
        dtype: "<f4" or "<i2".

    Raises:
        InputError: the samples exceed the size of a WAV file.
    """
    width = np.dtype(dtype).itemsize
    size = _UNKNOWN_SIZE if samples is None else width * samples
    if samples is not None and size > MAX_BYTES:
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
    whole = min(4 + len(chunks) + size, _UNKNOWN_SIZE)
    return struct.pack("<4sI4s", b"RIFF", whole, b"WAVE") + chunks


def write_wav(path: str | Path, audio: NDArray[np.float32], sample_rate: int) -> None:
    """Write mono 32-bit float WAV atomically; equal audio gives equal bytes.

    Args:
        path: of the file.
        audio: float32 (samples,).
        sample_rate: in Hz.

    Raises:
        InputError: the file cannot be written.
    """
    path = Path(path)
    check_output(path)
    data = np.ascontiguousarray(audio, dtype="<f4").reshape(-1)
    head = header(data.size, sample_rate)
    with whole_file(path) as temporary, temporary.open("xb") as stream:
        stream.write(head)
        stream.write(data.tobytes())


def _chunk(name: bytes, body: bytes) -> bytes:
    return struct.pack("<4sI", name, len(body)) + body
