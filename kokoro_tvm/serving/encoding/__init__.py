"""Audio as bytes of the formats that clients ask for, one module per library; each is imported where it is
used."""

from __future__ import annotations

from kokoro_tvm.common.errors import InputError
from kokoro_tvm.serving.encoding.base import Encoder, PcmEncoder, WavEncoder
from kokoro_tvm.serving.encoding.ffmpeg import AacEncoder, OpusEncoder
from kokoro_tvm.serving.encoding.flac import FlacEncoder
from kokoro_tvm.serving.encoding.mp3 import Mp3Encoder

__all__ = ["FORMATS", "Encoder", "available_formats", "open_encoder"]

FORMATS: dict[str, type[Encoder]] = {
    "mp3": Mp3Encoder,
    "opus": OpusEncoder,
    "aac": AacEncoder,
    "flac": FlacEncoder,
    "wav": WavEncoder,
    "pcm": PcmEncoder,
}
"""Encoders by the names that OpenAI's interface has for their formats."""


def available_formats() -> tuple[str, ...]:
    """The formats whose library can be imported."""
    return tuple(name for name, encoder in FORMATS.items() if encoder.problem() is None)


def open_encoder(format: str, samples: int | None = None) -> Encoder:
    """An encoder of one of FORMATS for mono audio at 24 kHz.

    samples: how many there will be, where that is known: then a WAV says so in its header.
    Raises InputError for a format whose library is missing (the message names the extra that installs it),
    and for more samples than a WAV file can hold.
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
