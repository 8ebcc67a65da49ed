"""FLAC by libsndfile, which writes to memory."""

from __future__ import annotations

import importlib
import io

import numpy as np

from kokoro_tvm.common.constants import SAMPLE_RATE
from kokoro_tvm.serving.encoding.base import Encoder, Floats, as_int16


class FlacEncoder(Encoder):
    """16-bit FLAC, in blocks of 4096 samples."""

    media_type = "audio/flac"
    package = "soundfile"

    def __init__(self, sample_rate: int = SAMPLE_RATE) -> None:
        self._output = _Stream()
        soundfile = importlib.import_module("soundfile")
        self._file = soundfile.SoundFile(self._output, "w", sample_rate, 1, format="FLAC", subtype="PCM_16")

    def write(self, samples: Floats) -> bytes:
        """Encode samples."""
        self._file.write(np.frombuffer(as_int16(samples), "<i2"))
        return self._output.take()

    def close(self) -> bytes:
        """Return the remaining bytes."""
        self._file.close()
        return self._output.take()


class _Stream(io.RawIOBase):
    """File in memory without the header that libsndfile rewrites at the end."""

    def __init__(self) -> None:
        super().__init__()
        self._place = self._end = 0
        self._buffer = bytearray()

    def take(self) -> bytes:
        """Return and empty the buffer."""
        data, self._buffer = self._buffer, bytearray()
        return bytes(data)

    def write(self, data) -> int:  # type: ignore[no-untyped-def]
        """Append to the buffer; drop what would overwrite earlier bytes."""
        if self._place == self._end:
            self._buffer += data
            self._end += len(data)
        self._place += len(data)
        return len(data)

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        self._place = offset + (0, self._place, self._end)[whence]
        return self._place

    def tell(self) -> int:
        return self._place

    def writable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True
