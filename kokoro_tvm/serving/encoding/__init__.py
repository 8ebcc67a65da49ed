"""Encoders of audio formats, one module per library, which is imported when it is used."""

from __future__ import annotations

from typing import Literal

from kokoro_tvm.common.errors import InputError
from kokoro_tvm.serving.encoding.base import Encoder, PcmEncoder, WavEncoder
from kokoro_tvm.serving.encoding.ffmpeg import AacEncoder, OpusEncoder
from kokoro_tvm.serving.encoding.flac import FlacEncoder
from kokoro_tvm.serving.encoding.mp3 import Mp3Encoder

__all__ = ["FORMATS", "AudioFormat", "Encoder", "available_formats", "open_encoder"]

AudioFormat = Literal["mp3", "opus", "aac", "flac", "wav", "pcm"]

FORMATS: dict[str, type[Encoder]] = {
    "mp3": Mp3Encoder,
    "opus": OpusEncoder,
    "aac": AacEncoder,
    "flac": FlacEncoder,
    "wav": WavEncoder,
    "pcm": PcmEncoder,
}
"""Encoders by OpenAI's names of their formats."""


def available_formats() -> tuple[str, ...]:
    """Return the formats whose library can be imported."""
    return tuple(name for name, encoder in FORMATS.items() if encoder.problem() is None)


def open_encoder(format: str, samples: int | None = None) -> Encoder:
    """Create an encoder of mono audio at 24 kHz.

    Args:
        format: One of FORMATS.
        samples: Number of samples, if it is known: the header of a WAV contains it.

    Raises:
        InputError: The library of the format is missing, or a WAV file cannot hold so many samples.
    """
    if format == "wav":
        return WavEncoder(samples)
    encoder = FORMATS[format]
    problem = encoder.problem()
    if problem is not None:
        raise InputError(
            f"Audio as {format} needs the package {encoder.package}, which cannot be imported. "
            f"Run `pip install 'kokoro-tvm[{encoder.extra}]'` where the server runs, or request one of "
            f"{', '.join(available_formats())}."
        ) from problem
    return encoder()
