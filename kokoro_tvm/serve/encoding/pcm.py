"""16-bit samples, bare or behind a WAV header, by this package alone."""

from __future__ import annotations

from kokoro_tvm.constants import SAMPLE_RATE
from kokoro_tvm.runtime.speech.wav import header
from kokoro_tvm.serve.encoding.base import Encoder, Floats, as_int16

__all__ = ["PcmEncoder", "WavEncoder"]


class PcmEncoder(Encoder):
    """Little-endian 16-bit samples and nothing else."""

    media_type = "audio/pcm"

    def __init__(self, samples: int | None) -> None:
        super().__init__(samples)
        self.size = None if samples is None else 2 * samples

    def _write(self, samples: Floats) -> bytes:
        return as_int16(samples)

    def _close(self) -> bytes:
        return b""


class WavEncoder(PcmEncoder):
    """16-bit WAV. Its header has the exact length, or the largest there is where that is not known."""

    media_type = "audio/wav"

    def __init__(self, samples: int | None) -> None:
        super().__init__(samples)
        self._header = header(samples, SAMPLE_RATE, "<i2")
        if self.size is not None:
            self.size += len(self._header)

    def _write(self, samples: Floats) -> bytes:
        return self._take_header() + super()._write(samples)

    def _close(self) -> bytes:
        return self._take_header()

    def _take_header(self) -> bytes:
        taken, self._header = self._header, b""
        return taken
