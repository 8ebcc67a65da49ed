"""What the stock model says of one utterance, end to end and no more: the yardstick of `e2e` (numpy only).

A tenth of the size of a `Reference`, which keeps everything inside the model as well, and half the work.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from kokoro_tvm.errors import ValidationError
from kokoro_tvm.validate.reference import rounding_margin

__all__ = ["RESEED", "Said", "SpeechReference", "load_speech", "save_speech"]

RESEED = 1_000_003
"""Added to an utterance's seed for the second draw of noise."""

_FORMAT = "1"
_SIDES = ("truth", "dynamic", "reseeded")


@dataclass(frozen=True, eq=False)
class Said:
    """One utterance as one side says it."""

    audio: NDArray[Any]
    """(600F,) samples at 24 kHz, float64 or float32."""
    durations: NDArray[np.int64]
    """(T,) frames of every token."""
    f0: NDArray[Any]
    """(1, 2F) pitch in Hz, as the model predicts it."""


@dataclass(frozen=True, eq=False)
class SpeechReference:
    """One utterance as the stock model says it: in float64, in float32, and in float64 with other noise."""

    name: str
    phonemes: str
    voice: str
    speed: float
    seed: int
    tokens: NDArray[np.int64]
    """(1, T) with the boundary symbol 0 at both ends."""
    ref_s: NDArray[np.float32]
    """(1, 256): the first half is the decoder's style, the second duration's and f0n's."""
    duration: NDArray[np.float64]
    """(1, T) frames of every token at speed 1, before rounding, in float64."""
    truth: Said
    """pt.float64."""
    dynamic: Said
    """pt.dynamic."""
    reseeded: Said
    """pt.float64 with the noise of seed + RESEED."""

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
    tensors = {name: getattr(reference, name) for name in ("tokens", "ref_s", "duration")}
    for side in _SIDES:
        said = getattr(reference, side)
        tensors |= {f"{side}.{f.name}": getattr(said, f.name) for f in fields(said)}
    metadata = (
        {"format": _FORMAT}
        | {key: getattr(reference, key) for key in ("name", "phonemes", "voice")}
        | {"speed": repr(reference.speed), "seed": str(reference.seed)}
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=path.parent, prefix=".speech-") as folder:
        partial = Path(folder) / "speech.safetensors"
        save_file({name: np.ascontiguousarray(array) for name, array in tensors.items()}, partial, metadata)
        partial.replace(path)


def load_speech(path: Path) -> SpeechReference:
    """Read what `save_speech` wrote.

    Raises ValidationError when the file is missing, damaged or of another version.
    """
    try:
        with safe_open(path, framework="numpy") as file:
            told = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a dict)
        if told.get("format") != _FORMAT:
            raise KeyError(f"format {_FORMAT}")
        sides = {side: Said(**{f.name: tensors[f"{side}.{f.name}"] for f in fields(Said)}) for side in _SIDES}
        return SpeechReference(
            **{key: told[key] for key in ("name", "phonemes", "voice")},
            speed=float(told["speed"]),
            seed=int(told["seed"]),
            **{name: tensors[name] for name in ("tokens", "ref_s", "duration")},
            truth=sides["truth"],
            dynamic=sides["dynamic"],
            reseeded=sides["reseeded"],
        )
    except (OSError, SafetensorError, KeyError, ValueError) as error:
        raise ValidationError(
            f"{path} cannot be read as a reference of speech ({error}). Delete it and run this again."
        ) from error
