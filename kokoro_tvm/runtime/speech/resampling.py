"""Other sample rates, by libsoxr, and the telephone's encodings (ITU-T G.711)."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from kokoro_tvm.common.errors import InputError

SAMPLE_RATES = (8000, 16000, 22050, 24000, 44100, 48000)
"""Sample rates that audio is converted to, in Hz."""
TELEPHONE_RATE = 8000
"""Sample rate of G.711, in Hz."""

_Floats = NDArray[np.float32]
_ULAW_BIAS, _ULAW_MAX = 33, 8158  # of 14-bit samples


class Resampler:
    """Converter of a stream of mono audio from one sample rate to another."""

    def __init__(self, sample_rate: int, target: int) -> None:
        """Create a converter.

        Args:
            sample_rate: Of the input, in Hz.
            target: Of the output, in Hz, one of SAMPLE_RATES.

        Raises:
            InputError: The rate is another, or soxr is not installed.
        """
        if target not in SAMPLE_RATES:
            rates = ", ".join(map(str, SAMPLE_RATES))
            raise InputError(f"The sample rate {target} is not supported. Choose one of {rates} Hz.")
        self._stream = None
        if target == sample_rate:
            return
        try:
            soxr = importlib.import_module("soxr")
        except ImportError as error:
            raise InputError(
                f"Another sample rate than {sample_rate} needs soxr, which is not installed. "
                "Run `pip install soxr`."
            ) from error
        self._stream = soxr.ResampleStream(sample_rate, target, 1, dtype="float32")

    def write(self, samples: _Floats) -> _Floats:
        """Convert float32 (samples,); the rest of them may come later."""
        return samples if self._stream is None else self._stream.resample_chunk(samples)

    def close(self) -> _Floats:
        """Return the remaining samples."""
        empty = np.zeros(0, np.float32)
        return empty if self._stream is None else self._stream.resample_chunk(empty, last=True)


def resample(blocks: Iterable[_Floats], sample_rate: int, target: int) -> Iterator[_Floats]:
    """Yield the blocks of audio at another sample rate. Raises InputError as `Resampler` does."""
    resampler = Resampler(sample_rate, target)
    for block in blocks:
        yield resampler.write(block)
    yield resampler.close()


def encode_ulaw(samples: _Floats) -> bytes:
    """Encode float32 (samples,) as 8-bit µ-law, clipped at full scale."""
    values = np.rint(np.clip(samples, -1.0, 1.0) * 32767).astype(np.int32) >> 2
    magnitude = np.minimum(np.abs(values), _ULAW_MAX) + _ULAW_BIAS
    exponent = np.floor(np.log2(magnitude)).astype(np.int32) - 5
    mantissa = (magnitude >> (exponent + 1)) & 15
    code = np.where(values < 0, 128, 0) | (exponent << 4) | mantissa
    return (~code & 255).astype(np.uint8).tobytes()


def encode_alaw(samples: _Floats) -> bytes:
    """Encode float32 (samples,) as 8-bit A-law, clipped at full scale."""
    values = np.rint(np.clip(samples, -1.0, 1.0) * 32767).astype(np.int32)
    magnitude = np.where(values < 0, ~values, values) >> 3
    exponent = np.maximum(np.floor(np.log2(np.maximum(magnitude, 1))).astype(np.int32) - 4, 0)
    mantissa = (magnitude >> np.maximum(exponent, 1)) & 15
    code = np.where(values < 0, 0, 128) | (exponent << 4) | mantissa
    return (code ^ 0x55).astype(np.uint8).tobytes()
