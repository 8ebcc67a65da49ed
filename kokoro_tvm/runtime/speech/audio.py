"""Float WAV files that appear whole or not at all."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kokoro_tvm.errors import InputError
from kokoro_tvm.output import check_place, whole_file

__all__ = ["check_output", "write_wav"]

_OTHER_FORMATS = frozenset({".mp3", ".ogg", ".opus", ".flac", ".m4a", ".aac", ".webm"})


def check_output(path: Path) -> None:
    """Raise InputError when a WAV cannot be written to `path`, before time is spent on speaking."""
    if path.suffix.lower() in _OTHER_FORMATS:
        raise InputError(
            f"{path}: only WAV is written here. Name it {path.with_suffix('.wav')}, or call "
            "kokoro_tvm.documents.writers.write_audio."
        )
    check_place(path)


def write_wav(path: str | Path, audio: NDArray[np.float32], sample_rate: int) -> None:
    """Write mono 32-bit float WAV; other readers see the old file or the whole new one, never a part.

    The bytes depend on the audio alone (common libraries put the time of writing into float WAV files).
    Raises InputError when the file cannot be written.
    """
    from kokoro_tvm.documents.writers.wav import header  # the package imports every format's

    path = Path(path)
    check_output(path)
    data = np.ascontiguousarray(audio, dtype="<f4").reshape(-1)
    head = header(data.size, sample_rate)
    with whole_file(path) as temporary, temporary.open("xb") as stream:
        stream.write(head)
        stream.write(data.tobytes())
