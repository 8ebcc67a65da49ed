"""Opus in Ogg and AAC in ADTS, by the libraries of FFmpeg in the package av (PyAV)."""

from __future__ import annotations

import importlib
from typing import ClassVar

import numpy as np

from kokoro_tvm.common.constants import SAMPLE_RATE
from kokoro_tvm.serving.encoding.base import BITS_A_SECOND, Encoder, Floats


class _FfmpegEncoder(Encoder):
    """Encoder of one codec in one container."""

    package = "av"
    extra = "av"
    container: ClassVar[str]
    codec: ClassVar[str]
    options: ClassVar[dict[str, str]] = {}

    def __init__(self, sample_rate: int = SAMPLE_RATE) -> None:
        super().__init__(sample_rate)
        self._av = importlib.import_module("av")
        self._output = _Pipe()
        # Without bitexact, Ogg gets a random serial number, and equal speech different bytes.
        options = {"fflags": "+bitexact", **self.options}
        self._file = self._av.open(self._output, "w", format=self.container, options=options)
        self._track = self._file.add_stream(self.codec, rate=sample_rate, layout="mono")
        self._track.bit_rate = BITS_A_SECOND

    def write(self, samples: Floats) -> bytes:
        """Encode samples."""
        block = np.clip(samples, -1.0, 1.0, dtype=np.float32).reshape(1, -1)
        frame = self._av.AudioFrame.from_ndarray(block, format="flt", layout="mono")
        frame.sample_rate = self.sample_rate
        self._file.mux(self._track.encode(frame))
        return self._output.take()

    def close(self) -> bytes:
        """Return the remaining bytes."""
        self._file.mux(self._track.encode(None))
        self._file.close()
        return self._output.take()


class _Pipe:
    """Output of FFmpeg. It has no `seek`, so FFmpeg overwrites nothing."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def write(self, data: bytes) -> int:
        """Append to the buffer."""
        self._buffer += data
        return len(data)

    def take(self) -> bytes:
        """Return and empty the buffer."""
        data, self._buffer = self._buffer, bytearray()
        return bytes(data)


class OpusEncoder(_FfmpegEncoder):
    """Opus in Ogg, a page for each packet of 20 ms: the default of a page a second would delay the audio."""

    media_type = "audio/ogg; codecs=opus"
    container = "ogg"
    codec = "libopus"
    options: ClassVar[dict[str, str]] = {"page_duration": "20000"}


class AacEncoder(_FfmpegEncoder):
    """AAC in ADTS, frames of 43 ms. Decoders give 1024 samples of silence before the speech."""

    media_type = "audio/aac"
    container = "adts"
    codec = "aac"
