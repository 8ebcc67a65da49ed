"""Audio: joining utterances without a click, and float WAV files that appear whole or not at all."""

from __future__ import annotations

import itertools
import os
import struct
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kokoro_tvm.errors import InputError

__all__ = ["check_output", "join", "write_wav"]

_FADE_SECONDS = 0.005
_OTHER_FORMATS = frozenset({".mp3", ".ogg", ".opus", ".flac", ".m4a", ".aac", ".webm"})
_LARGEST = (1 << 32) - 1024  # bytes; sizes in a WAV file have 32 bits
_FORMAT_IEEE_FLOAT = 3


def join(pieces: Sequence[NDArray[np.float32]], sample_rate: int) -> NDArray[np.float32]:
    """Pieces one after the other, float32 (samples,); a single piece is left bit for bit as it is.

    Each piece is an utterance of its own: it begins and ends with the near silence the model gives the marks
    at both ends, so no pause is added. What could click is the step between two such ends, so a raised cosine
    of 5 ms takes both to zero at the joint. No sample is dropped: the sum of all lengths is kept.
    """
    faded = [np.array(piece, dtype=np.float32) for piece in pieces]
    for before, after in itertools.pairwise(faded):
        count = min(round(_FADE_SECONDS * sample_rate), before.size, after.size)
        rise = (0.5 - 0.5 * np.cos(np.pi * np.arange(count) / max(count, 1))).astype(np.float32)
        after[:count] *= rise
        before[before.size - count :] *= rise[::-1]
    return np.concatenate(faded)


def check_output(path: Path) -> None:
    """Raise InputError when a WAV cannot be written to `path`, before time is spent on speaking."""
    if path.suffix.lower() in _OTHER_FORMATS:
        raise InputError(
            f"{path}: only WAV is written. Name it {path.with_suffix('.wav')} and convert it afterwards."
        )
    if path.is_dir():
        raise InputError(f"{path} is a folder; name a file to write to, such as {path / 'speech.wav'}.")
    if not path.parent.is_dir():
        raise InputError(f"The folder {path.parent} for {path.name} does not exist. Create it first.")
    if not os.access(path.parent, os.W_OK):
        raise InputError(f"The folder {path.parent} for {path.name} is not writable.")


def write_wav(path: str | Path, audio: NDArray[np.float32], sample_rate: int) -> None:
    """Write mono 32-bit float WAV; other readers see the old file or the whole new one, never a part.

    The bytes depend on the audio alone (common libraries put the time of writing into float WAV files).
    Raises InputError when the file cannot be written.
    """
    path = Path(path)
    check_output(path)
    data = np.ascontiguousarray(audio, dtype="<f4").reshape(-1)
    if data.nbytes > _LARGEST:
        raise InputError(
            f"{data.size / sample_rate:.0f} s of audio do not fit into one WAV file. Speak less at once."
        )
    layout = struct.pack("<HHIIHHH", _FORMAT_IEEE_FLOAT, 1, sample_rate, sample_rate * 4, 4, 32, 0)
    chunks = _chunk(b"fmt ", layout)
    chunks += _chunk(b"fact", struct.pack("<I", data.size)) + struct.pack("<4sI", b"data", data.nbytes)
    header = struct.pack("<4sI4s", b"RIFF", 4 + len(chunks) + data.nbytes, b"WAVE") + chunks
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with temporary.open("xb") as stream:
            stream.write(header)
            stream.write(data.tobytes())
        temporary.replace(path)
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror or error}.") from error
    finally:
        temporary.unlink(missing_ok=True)


def _chunk(name: bytes, body: bytes) -> bytes:
    return struct.pack("<4sI", name, len(body)) + body
