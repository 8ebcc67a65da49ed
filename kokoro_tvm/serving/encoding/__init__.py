"""Encoders of audio formats, one module per library, which is imported when it is used."""

from __future__ import annotations

from typing import Literal

from kokoro_tvm.common.constants import SAMPLE_RATE
from kokoro_tvm.common.errors import InputError
from kokoro_tvm.runtime.speech.resampling import TELEPHONE_RATE
from kokoro_tvm.serving.encoding.base import (
    AlawEncoder,
    Encoder,
    PcmEncoder,
    ResampledEncoder,
    UlawEncoder,
    WavEncoder,
)
from kokoro_tvm.serving.encoding.ffmpeg import AacEncoder, OpusEncoder
from kokoro_tvm.serving.encoding.flac import FlacEncoder
from kokoro_tvm.serving.encoding.mp3 import Mp3Encoder

__all__ = ["FORMATS", "AudioFormat", "Encoder", "SampleRate", "available_formats", "open_encoder"]

AudioFormat = Literal["mp3", "opus", "aac", "flac", "wav", "pcm", "ulaw", "alaw"]
SampleRate = Literal[8000, 16000, 22050, 24000, 44100, 48000]

FORMATS: dict[str, type[Encoder]] = {
    "mp3": Mp3Encoder,
    "opus": OpusEncoder,
    "aac": AacEncoder,
    "flac": FlacEncoder,
    "wav": WavEncoder,
    "pcm": PcmEncoder,
    "ulaw": UlawEncoder,
    "alaw": AlawEncoder,
}
"""Encoders by OpenAI's names of their formats, and G.711's."""
_NO_RATES = {"opus": (22050, 44100)}  # of the sample rates that an encoder does not have


def available_formats() -> tuple[str, ...]:
    """Return the formats whose library can be imported."""
    return tuple(name for name, encoder in FORMATS.items() if encoder.problem() is None)


def open_encoder(format: str, samples: int | None = None, sample_rate: int | None = None) -> Encoder:
    """Create an encoder of mono audio at 24 kHz.

    Args:
        format: One of FORMATS.
        samples: Number of samples, if it is known: the header of a WAV contains it.
        sample_rate: Of the output, in Hz; None: 8000 for G.711, else 24000.

    Raises:
        InputError: The library of the format is missing, the format does not have the sample rate, or a WAV
            file cannot hold so many samples.
    """
    rate = sample_rate or (TELEPHONE_RATE if format in ("ulaw", "alaw") else SAMPLE_RATE)
    if rate in _NO_RATES.get(format, ()):
        raise InputError(f"Audio as {format} has no sample rate of {rate} Hz. Choose 24000 or 48000.")
    if format == "wav" and rate == SAMPLE_RATE:
        return WavEncoder(samples=samples)
    encoder = FORMATS[format]
    problem = encoder.problem()
    if problem is not None:
        raise InputError(
            f"Audio as {format} needs the package {encoder.package}, which cannot be imported. "
            f"Run `pip install 'kokoro-tvm[{encoder.extra}]'` where the server runs, or request one of "
            f"{', '.join(available_formats())}."
        ) from problem
    return encoder(rate) if rate == SAMPLE_RATE else ResampledEncoder(encoder(rate), rate)
