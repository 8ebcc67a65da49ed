"""Float WAV files that appear whole or not at all."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kokoro_tvm.common.errors import InputError
from kokoro_tvm.common.output import check_place, whole_file

__all__ = ["check_output", "header", "write_wav"]

LARGEST = (1 << 32) - 1024  # bytes; sizes in a WAV file have 32 bits
_UNKNOWN = (1 << 32) - 1  # the size of what is not known before it ends, as FFmpeg writes and reads it
_FORMAT_PCM = 1
_FORMAT_IEEE_FLOAT = 3
_OTHER_FORMATS = frozenset({".mp3", ".ogg", ".opus", ".flac", ".m4a", ".aac", ".webm"})


def check_output(path: Path) -> None:
    """Raise InputError when a WAV cannot be written to `path`, before time is spent on speaking."""
    if path.suffix.lower() in _OTHER_FORMATS:
        raise InputError(
            f"{path}: only WAV is written here. Name it {path.with_suffix('.wav')}, or call "
            "kokoro_tvm.runtime.documents.writers.write_audio."
        )
    check_place(path)


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


def write_wav(path: str | Path, audio: NDArray[np.float32], sample_rate: int) -> None:
    """Write mono 32-bit float WAV; other readers see the old file or the whole new one, never a part.

    The bytes depend on the audio alone (common libraries put the time of writing into float WAV files).
    Raises InputError when the file cannot be written.
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
