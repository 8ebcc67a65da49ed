"""What encoders have in common, and those without a library: 16-bit samples, bare or behind a WAV header."""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from kokoro_tvm.common.constants import SAMPLE_RATE
from kokoro_tvm.runtime.speech.wav import header

__all__ = ["BITS_A_SECOND", "Encoder", "Floats", "PcmEncoder", "WavEncoder", "as_int16"]

Floats = NDArray[np.float32]

BITS_A_SECOND = 64_000
"""Of the lossy formats, which is transparent for one voice at 24 kHz."""


class Encoder(ABC):
    """Mono audio at 24 kHz as bytes of one format, which leave as soon as the format allows.

    Any division of the audio into calls of `write` gives the same bytes. An encoder is for one speech.
    """

    media_type: ClassVar[str]
    """For the header Content-Type."""

    package: ClassVar[str | None] = None
    """What it imports when it is opened."""

    extra: ClassVar[str] = "serve"
    """What installs that package."""

    size: int | None = None
    """Bytes of all that will be written, where that is known before any audio."""

    @classmethod
    def problem(cls) -> Exception | None:
        """Why its package cannot be imported."""
        if cls.package is not None:
            try:
                importlib.import_module(cls.package)
            except (ImportError, OSError) as error:  # OSError: a package without its library
                return error
        return None

    @abstractmethod
    def write(self, samples: Floats) -> bytes:
        """Encode float32 (samples,), at least one; values beyond 1 are clipped. The bytes may be empty."""

    @abstractmethod
    def close(self) -> bytes:
        """The bytes that are left."""


class PcmEncoder(Encoder):
    """Little-endian 16-bit samples and nothing else."""

    media_type = "audio/pcm"

    def write(self, samples: Floats) -> bytes:
        return as_int16(samples)

    def close(self) -> bytes:
        return b""


class WavEncoder(PcmEncoder):
    """16-bit WAV. Its header has the exact length, or the largest there is where that is not known."""

    media_type = "audio/wav"

    def __init__(self, samples: int | None = None) -> None:
        """samples: how many there will be. Raises InputError for more than a WAV file can hold."""
        self._header = header(samples, SAMPLE_RATE, "<i2")
        self.size = None if samples is None else len(self._header) + 2 * samples

    def write(self, samples: Floats) -> bytes:
        return self._take_header() + super().write(samples)

    def close(self) -> bytes:
        return self._take_header()

    def _take_header(self) -> bytes:
        taken, self._header = self._header, b""
        return taken


def as_int16(samples: Floats) -> bytes:
    """Little-endian 16-bit integers, to the nearest; what is beyond ±1 is clipped."""
    return np.rint(np.clip(samples, -1.0, 1.0) * np.float32(32767)).astype("<i2").tobytes()
