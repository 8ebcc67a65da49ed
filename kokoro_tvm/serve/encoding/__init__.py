"""Audio as bytes of the formats that clients ask for, one module per library; each is imported where it is
used."""

from __future__ import annotations

import importlib
from dataclasses import dataclass

from kokoro_tvm.errors import InputError
from kokoro_tvm.serve.encoding.base import Encoder, Floats

__all__ = ["FORMATS", "Encoder", "Floats", "available_formats", "media_type", "open_encoder"]


@dataclass(frozen=True)
class _Format:
    """module: of this package; package: that it imports (None: none); extra: what installs it."""

    module: str
    encoder: str
    package: str | None = None
    extra: str = "serve"

    def problem(self) -> Exception | None:
        """Why its package cannot be imported."""
        if self.package is not None:
            try:
                importlib.import_module(self.package)
            except (ImportError, OSError) as error:  # OSError: a package without its library
                return error
        return None

    @property
    def kind(self) -> type[Encoder]:
        """Its encoder."""
        found: type[Encoder] = getattr(importlib.import_module(f"{__name__}.{self.module}"), self.encoder)
        return found


_FORMATS = {
    "mp3": _Format("mp3", "Mp3Encoder", "lameenc"),
    "opus": _Format("ffmpeg", "OpusEncoder", "av", "av"),
    "aac": _Format("ffmpeg", "AacEncoder", "av", "av"),
    "flac": _Format("flac", "FlacEncoder", "soundfile"),
    "wav": _Format("pcm", "WavEncoder"),
    "pcm": _Format("pcm", "PcmEncoder"),
}
FORMATS = tuple(_FORMATS)
"""Names of formats, as OpenAI's interface has them."""


def available_formats() -> tuple[str, ...]:
    """The formats whose library can be imported."""
    return tuple(name for name, format in _FORMATS.items() if format.problem() is None)


def media_type(format: str) -> str:
    """The media type of one of FORMATS."""
    return _FORMATS[format].kind.media_type


def open_encoder(format: str, samples: int | None = None) -> Encoder:
    """An encoder of one of FORMATS for mono audio at 24 kHz.

    samples: how many there will be, where that is known: then WAV and FLAC say so in their headers.
    Raises InputError for an unknown format, one whose library is missing (the message names the extra that
    installs it), or more samples than a WAV file can hold.
    """
    if format not in _FORMATS:
        raise InputError(f"The format of audio should be one of {', '.join(FORMATS)}, but is {format!r}.")
    found = _FORMATS[format]
    problem = found.problem()
    if problem is not None:
        raise InputError(
            f"Audio as {format} needs the package {found.package}, which cannot be imported. "
            f"Run `pip install 'kokoro-tvm[{found.extra}]'` where the server runs, or request one of "
            f"{', '.join(available_formats())}."
        ) from problem
    return found.kind(samples)
