"""Opus in Ogg and AAC in ADTS, through the libraries of FFmpeg that the package av (PyAV) brings along."""

from __future__ import annotations

import importlib
from typing import ClassVar

import numpy as np

from kokoro_tvm.common.constants import SAMPLE_RATE
from kokoro_tvm.serving.encoding.base import BITS_A_SECOND, Encoder, Floats

__all__ = ["AacEncoder", "OpusEncoder"]


class _FfmpegEncoder(Encoder):
    """One codec in one container."""

    package = "av"
    extra = "av"
    container: ClassVar[str]
    codec: ClassVar[str]
    options: ClassVar[dict[str, str]] = {}

    def __init__(self) -> None:
        self._av = importlib.import_module("av")
        self._output = _Pipe()
        # bitexact: without it, Ogg gets a random serial number, and the same speech other bytes.
        options = {"fflags": "+bitexact", **self.options}
        self._file = self._av.open(self._output, "w", format=self.container, options=options)
        self._track = self._file.add_stream(self.codec, rate=SAMPLE_RATE, layout="mono")
        self._track.bit_rate = BITS_A_SECOND

    def write(self, samples: Floats) -> bytes:
        block = np.clip(samples, -1.0, 1.0, dtype=np.float32).reshape(1, -1)
        frame = self._av.AudioFrame.from_ndarray(block, format="flt", layout="mono")
        frame.sample_rate = SAMPLE_RATE
        self._file.mux(self._track.encode(frame))
        return self._output.take()

    def close(self) -> bytes:
        self._file.mux(self._track.encode(None))
        self._file.close()
        return self._output.take()


class _Pipe:
    """What FFmpeg writes to: it has no `seek`, so nothing is written over."""

    def __init__(self) -> None:
        self._kept = bytearray()

    def write(self, data: bytes) -> int:
        self._kept += data
        return len(data)

    def take(self) -> bytes:
        taken, self._kept = self._kept, bytearray()
        return bytes(taken)


class OpusEncoder(_FfmpegEncoder):
    """Opus in Ogg, a page for each packet of 20 ms: the default of one a second would hold the sound back."""

    media_type = "audio/ogg; codecs=opus"
    container = "ogg"
    codec = "libopus"
    options: ClassVar[dict[str, str]] = {"page_duration": "20000"}


class AacEncoder(_FfmpegEncoder):
    """AAC in ADTS, frames of 43 ms. Decoders give 1024 samples of silence before the speech."""

    media_type = "audio/aac"
    container = "adts"
    codec = "aac"
