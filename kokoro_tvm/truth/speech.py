"""The stock model's rendering of one utterance, end to end and no more: the yardstick of `e2e` (numpy only).

A tenth of the size of a `Reference`, which keeps everything inside the model as well, and half the work.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kokoro_tvm.truth.reference import rounding_margin
from kokoro_tvm.truth.request import Request
from kokoro_tvm.truth.tensor_file import read_tensors, write_tensors

__all__ = ["RESEED", "Rendering", "SpeechReference", "load_speech", "save_speech"]

RESEED = 1_000_003
"""Added to an utterance's seed for the second draw of noise."""

_ARRAYS = ("duration", "exact_audio")
_SIDES = ("truth", "dynamic", "reseeded")


@dataclass(frozen=True, eq=False)
class Rendering:
    """One side's speech for one request."""

    audio: NDArray[Any]
    """(600F,) samples at 24 kHz, float64 or float32."""
    durations: NDArray[np.int64]
    """(T,) frames of every token."""
    f0: NDArray[Any]
    """(1, 2F) pitch in Hz, as the model predicts it."""


@dataclass(frozen=True, eq=False)
class SpeechReference(Request):
    """The stock model's renderings of one utterance: float64, float32, and float64 with other noise."""

    duration: NDArray[np.float64]
    """(1, T) frames of every token at speed 1, before rounding, in float64."""
    truth: Rendering
    """pt.float64."""
    dynamic: Rendering
    """pt.dynamic."""
    reseeded: Rendering
    """pt.float64 with the noise of seed + RESEED."""
    exact_audio: NDArray[np.float64]
    """(600F,) pt.exact: see `truth.reference`."""

    @property
    def frames(self) -> int:
        """F, by the truth's durations."""
        return int(self.truth.durations.sum())

    def length(self, axis: str) -> int:
        """Valid length on `axis`, "tokens" or "frames"."""
        return {"tokens": self.tokens.shape[1], "frames": self.frames}[axis]

    def rounding_margin(self) -> float:
        """Distance in frames of the least certain duration from a rounding boundary, 0 to 0.5."""
        return rounding_margin(self.duration, self.speed)


def save_speech(reference: SpeechReference, path: Path) -> None:
    """Write a reference as one safetensors file; `path` appears whole or not at all."""
    tensors = reference.arrays() | {name: getattr(reference, name) for name in _ARRAYS}
    for side in _SIDES:
        rendering = getattr(reference, side)
        tensors |= {f"{side}.{f.name}": getattr(rendering, f.name) for f in fields(rendering)}
    write_tensors(path, tensors, reference.metadata())


def load_speech(path: Path) -> SpeechReference:
    """Read what `save_speech` wrote.

    Raises ValidationError when the file is missing, damaged or of another version.
    """
    return read_tensors(path, "a reference of speech", _speech)


def _speech(tensors: Mapping[str, NDArray[Any]], metadata: Mapping[str, str]) -> SpeechReference:
    values: dict[str, Any] = Request.fields_of(tensors, metadata) | {name: tensors[name] for name in _ARRAYS}
    for side in _SIDES:
        values[side] = Rendering(**{f.name: tensors[f"{side}.{f.name}"] for f in fields(Rendering)})
    return SpeechReference(**values)
