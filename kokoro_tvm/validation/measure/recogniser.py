"""English speech recogniser of the extra `asr`: Moonshine Tiny with its model.

The package is pinned in pyproject.toml and the model by SHA-256, so that word error rates are comparable.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from kokoro_tvm.common.digests import file_sha256
from kokoro_tvm.common.errors import ValidationError

_MODEL = "tiny-en"
_SHA256 = {
    "decoder_model_merged.ort": "cf524c4862d36e9e5ab032eddc73637efd822d70e868ac575cf1a46e1e4708a0",
    "encoder_model.ort": "94e90a4654fc45cdfedb77c4c08e1739f48862998e58fada384b25118134f221",
    "tokenizer.bin": "6884b35fd6377d4c4d32336a0bc152f36b64d1e45b6503683cdc238250a8472d",
}


class Recogniser(Protocol):
    """A speech recogniser."""

    def transcribe(self, audio: NDArray[np.float32], sample_rate: int) -> str:
        """Transcribe (samples,) audio."""
        ...


class _Moonshine:
    def __init__(self, folder: Path) -> None:
        from moonshine_voice.moonshine_api import ModelArch
        from moonshine_voice.transcriber import Transcriber

        self._transcriber: Any = Transcriber(folder, ModelArch.TINY)

    def transcribe(self, audio: NDArray[np.float32], sample_rate: int) -> str:
        transcript = self._transcriber.transcribe_without_streaming(audio.tolist(), sample_rate)
        return " ".join(line.text for line in transcript.lines)


def open_recogniser() -> Recogniser:
    """Open the recogniser. Raises ValidationError if the extra is missing or its model is another."""
    package = importlib.util.find_spec("moonshine_voice")
    if package is None or package.origin is None or importlib.util.find_spec("jiwer") is None:
        raise ValidationError(
            "The gate on intelligibility cannot be run: no speech recogniser is installed. "
            "Install it: pip install 'kokoro-tvm[asr]'"
        )
    folder = Path(package.origin).parent / "assets" / _MODEL
    check_model(folder)
    return _Moonshine(folder)


def check_model(folder: Path) -> None:
    """Raise ValidationError unless the model's files have the pinned SHA-256."""
    for name, pinned in _SHA256.items():
        path = folder / name
        sha256 = file_sha256(path) if path.is_file() else "nothing"
        if sha256 != pinned:
            raise ValidationError(
                f"The recogniser's model {path} should have the SHA-256 {pinned}, but has {sha256}. Install "
                f"the version of moonshine-voice that the extra asr pins: pip install 'kokoro-tvm[asr]'"
            )
