"""What encoders have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

__all__ = ["BITS_A_SECOND", "Encoder", "Floats", "as_int16"]

Floats = NDArray[np.float32]

BITS_A_SECOND = 64_000
"""Of the lossy formats, which is transparent for one voice at 24 kHz."""


class Encoder(ABC):
    """Mono audio at 24 kHz as bytes of one format, which leave as soon as the format allows.

    Any division of the audio into calls of `write` gives the same bytes. An encoder is for one speech.
    """

    media_type: ClassVar[str]
    """For the header Content-Type."""

    size: int | None = None
    """Bytes of all that will be written, where that is known before any audio."""

    def __init__(self, samples: int | None) -> None:
        self._promised = samples
        self._written = 0

    def write(self, samples: Floats) -> bytes:
        """Encode float32 (samples,); values beyond 1 are clipped. The bytes may be empty.

        Raises ValueError when there are more samples than the encoder was opened for.
        """
        self._written += samples.size
        if self._promised is not None and self._written > self._promised:
            raise ValueError(f"{self._written} samples for a header that has {self._promised}")
        return self._write(samples) if samples.size else b""

    def close(self) -> bytes:
        """The bytes that are left. Raises ValueError when there were fewer samples than announced."""
        if self._promised is not None and self._written != self._promised:
            raise ValueError(f"{self._written} samples for a header that has {self._promised}")
        return self._close()

    @abstractmethod
    def _write(self, samples: Floats) -> bytes: ...

    @abstractmethod
    def _close(self) -> bytes: ...


def as_int16(samples: Floats) -> bytes:
    """Little-endian 16-bit integers, to the nearest; what is beyond ±1 is clipped."""
    return np.rint(np.clip(samples, -1.0, 1.0) * np.float32(32767)).astype("<i2").tobytes()
