"""Base of encoders, and those without a library: 16-bit samples, bare or after a WAV header."""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from kokoro_tvm.common.constants import SAMPLE_RATE
from kokoro_tvm.runtime.speech.resampling import Resampler, encode_alaw, encode_ulaw
from kokoro_tvm.runtime.speech.wav import header

Floats = NDArray[np.float32]

BITS_A_SECOND = 64_000
"""Bit rate of the lossy formats, transparent for one voice at 24 kHz."""


class Encoder(ABC):
    """Encoder of mono audio in one format, whose bytes leave as soon as the format allows.

    Any division of the audio into calls of `write` gives the same bytes. An encoder is for one speech.

    Attributes:
        media_type: For the header Content-Type.
        package: Package that it imports when it is opened.
        extra: Extra of kokoro-tvm that installs the package.
        size: Bytes of the whole output, if they are known before any audio.
    """

    media_type: ClassVar[str]
    package: ClassVar[str | None] = None
    extra: ClassVar[str] = "serve"
    size: int | None = None

    def __init__(self, sample_rate: int = SAMPLE_RATE) -> None:
        """Create an encoder of audio at a sample rate."""
        self.sample_rate = sample_rate

    @classmethod
    def problem(cls) -> Exception | None:
        """Return the error of importing its package, or None."""
        if cls.package is not None:
            try:
                importlib.import_module(cls.package)
            except (ImportError, OSError) as error:  # OSError: a package without its library
                return error
        return None

    @abstractmethod
    def write(self, samples: Floats) -> bytes:
        """Encode float32 (samples,), at least one, clipped to ±1. The bytes may be empty."""

    @abstractmethod
    def close(self) -> bytes:
        """Return the remaining bytes."""


class PcmEncoder(Encoder):
    """Little-endian 16-bit samples and nothing else."""

    media_type = "audio/pcm"

    def write(self, samples: Floats) -> bytes:
        """Encode samples."""
        return as_int16(samples)

    def close(self) -> bytes:
        """Return the remaining bytes."""
        return b""


class WavEncoder(PcmEncoder):
    """16-bit WAV. Its header has the exact length, or the largest possible if the length is unknown."""

    media_type = "audio/wav"

    def __init__(self, sample_rate: int = SAMPLE_RATE, samples: int | None = None) -> None:
        """Write a header for a number of samples. Raises InputError if a WAV file cannot hold them."""
        self._header = header(samples, sample_rate, "<i2")
        self.size = None if samples is None else len(self._header) + 2 * samples

    def write(self, samples: Floats) -> bytes:
        """Encode samples."""
        return self._take_header() + super().write(samples)

    def close(self) -> bytes:
        """Return the remaining bytes."""
        return self._take_header()

    def _take_header(self) -> bytes:
        """Return the header once, then nothing."""
        header_bytes, self._header = self._header, b""
        return header_bytes


class UlawEncoder(PcmEncoder):
    """G.711 µ-law and nothing else."""

    media_type = "audio/PCMU"
    package = "soxr"

    def write(self, samples: Floats) -> bytes:
        """Encode samples."""
        return encode_ulaw(samples)


class AlawEncoder(PcmEncoder):
    """G.711 A-law and nothing else."""

    media_type = "audio/PCMA"
    package = "soxr"

    def write(self, samples: Floats) -> bytes:
        """Encode samples."""
        return encode_alaw(samples)


class ResampledEncoder(Encoder):
    """Encoder of audio that is converted to another sample rate first."""

    def __init__(self, encoder: Encoder, sample_rate: int) -> None:
        """Convert audio at 24 kHz for an encoder that was opened for `sample_rate`.

        Raises InputError as `Resampler` does.
        """
        self._encoder, self._resampler = encoder, Resampler(SAMPLE_RATE, sample_rate)
        self.media_type = encoder.media_type  # type: ignore[misc]

    def write(self, samples: Floats) -> bytes:
        """Encode samples."""
        return self._encode(self._resampler.write(samples))

    def close(self) -> bytes:
        """Return the remaining bytes."""
        return self._encode(self._resampler.close()) + self._encoder.close()

    def _encode(self, samples: Floats) -> bytes:
        return self._encoder.write(samples) if samples.size else b""


def as_int16(samples: Floats) -> bytes:
    """Round to little-endian 16-bit integers, clipped at full scale."""
    return np.rint(np.clip(samples, -1.0, 1.0) * np.float32(32767)).astype("<i2").tobytes()
