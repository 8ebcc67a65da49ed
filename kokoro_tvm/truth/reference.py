"""What the stock model makes of one utterance, kept in a file that validation only loads (numpy only).

Regimes: `pt.float64`, the truth, and `pt.dynamic`, both the stock model untouched, the latter in float32, as
people run it. Each is kept twice. *End to end* is one run of the whole model. *Fed* is the same model with
every component given the truth's intermediates rounded to float32: exactly what an artifact is given when it
is validated, so that artifact and PyTorch are compared on the same inputs and neither answers for what came
before it.

Beside the truth stands `pt.exact`, of which only the audio differs: float64 with the phases of those bins
that are real in exact arithmetic, where in the truth rounding decides between pi and -pi (`truth.exact`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kokoro_tvm.constants import SAMPLES_PER_FRAME, STYLE_DIM
from kokoro_tvm.truth.request import Request
from kokoro_tvm.truth.tensor_file import read_tensors, write_tensors

__all__ = [
    "DYNAMIC",
    "EXACT",
    "INPUTS",
    "OUTPUTS",
    "TRUTH",
    "Outputs",
    "Reference",
    "Trace",
    "frame_counts",
    "load_reference",
    "rounding_margin",
    "save_reference",
]

TRUTH = "pt.float64"
DYNAMIC = "pt.dynamic"
EXACT = "pt.exact"

INPUTS: Mapping[str, tuple[str, ...]] = {
    "bert": ("tokens",),
    "duration": ("d_en", "style"),
    "text_encoder": ("tokens",),
    "f0n": ("en", "style"),
    "decoder": ("asr", "f0", "n", "style", "noise"),
}
"""Names of each component's inputs, in the order of its exact signature."""

OUTPUTS: Mapping[str, tuple[str, ...]] = {
    "bert": ("d_en",),
    "duration": ("duration", "d"),
    "text_encoder": ("t_en",),
    "f0n": ("f0", "n"),
    "decoder": ("audio",),
}
"""Names of each component's outputs, in the order of its signature."""

Array = NDArray[Any]


def frame_counts(duration: Array, speed: float) -> NDArray[np.int64]:
    """Whole frames of every token: max(1, rint(duration / speed)), halves to even.

    `duration` (1, T) or (T,) in frames at speed 1; divided in its own dtype. Returns (T,) int64. Raises
    ValueError when it is not finite.
    """
    counts = np.rint(np.ravel(duration) / duration.dtype.type(speed))
    if not np.isfinite(counts).all():
        raise ValueError("the duration holds values that are not finite")
    return np.maximum(counts, 1).astype(np.int64)


def rounding_margin(duration: Array, speed: float) -> float:
    """Distance in frames of the least certain of durations from a rounding boundary, 0 to 0.5.

    `duration` as in `frame_counts`. What errs by less than this gets every integer right.
    """
    # Below one frame the count is one anyway: rounding 0.5 up or down changes nothing there.
    exact = np.maximum(np.ravel(duration) / speed, 1.0)
    return float(np.abs(exact - np.floor(exact) - 0.5).min())


@dataclass(frozen=True, eq=False)
class Outputs:
    """What the five components gave in one run, in the regime's dtype (float64 or float32)."""

    d_en: Array
    """(1, 512, T) text features of bert."""
    duration: Array
    """(1, T) frames of every token at speed 1, before rounding."""
    d: Array
    """(1, 640, T) prosody features."""
    t_en: Array
    """(1, 512, T) text encoding."""
    f0: Array
    """(1, 2F) pitch in Hz."""
    n: Array
    """(1, 2F) energy."""
    audio: Array
    """(600F,) samples at 24 kHz."""


@dataclass(frozen=True, eq=False)
class Trace(Outputs):
    """One end-to-end run of the stock model."""

    durations: NDArray[np.int64]
    """(T,) frames of every token at the utterance's speed."""
    en: Array
    """(1, 640, F) prosody features, one column a frame."""
    asr: Array
    """(1, 512, F) text encoding, one column a frame."""


@dataclass(frozen=True, eq=False)
class Reference(Request):
    """One utterance, and the stock model's runs of it: both regimes, end to end and fed (see the module)."""

    truth: Trace
    """pt.float64, end to end."""
    dynamic: Trace
    """pt.dynamic, end to end."""
    fed_truth: Outputs
    """pt.float64, every component fed `inputs`."""
    fed_dynamic: Outputs
    """pt.dynamic, every component fed `inputs`."""
    exact_audio: NDArray[np.float64]
    """(600F,) pt.exact, end to end."""
    fed_exact_audio: NDArray[np.float64]
    """(600F,) pt.exact, the decoder fed `inputs`."""

    @property
    def frames(self) -> int:
        """F, by the truth's durations."""
        return int(self.truth.durations.sum())

    def length(self, axis: str) -> int:
        """Valid length on `axis`, "tokens" or "frames"."""
        return {"tokens": self.tokens.shape[1], "frames": self.frames}[axis]

    def noise(self) -> NDArray[np.float32]:
        """The utterance's noise, (1, 600F) float32, drawn anew (it is not kept in the file)."""
        return self.draw(SAMPLES_PER_FRAME * self.frames)[None]

    def inputs(self, component: str) -> dict[str, Array]:
        """Inputs of one component by name: the truth's intermediates rounded to float32, tokens int64.

        Shapes are those of the component's exact signature, contiguous. Raises KeyError for an unknown
        component.
        """
        half = slice(None, STYLE_DIM) if component == "decoder" else slice(STYLE_DIM, None)
        made: dict[str, Array] = {}
        for name in INPUTS[component]:
            match name:
                case "tokens":
                    made[name] = self.tokens
                case "style":
                    made[name] = np.ascontiguousarray(self.ref_s[:, half])
                case "noise":
                    made[name] = self.noise()
                case _:
                    made[name] = np.ascontiguousarray(getattr(self.truth, name), dtype=np.float32)
        return made

    def rounding_margin(self) -> float:
        """Distance in frames of the least certain duration from a rounding boundary, 0 to 0.5, by the truth.

        An implementation whose durations err by less than this gets every integer right.
        """
        return rounding_margin(self.truth.duration, self.speed)


def save_reference(reference: Reference, path: Path) -> None:
    """Write a reference as one safetensors file; `path` appears whole or not at all."""
    tensors = reference.arrays() | {
        "exact_audio": reference.exact_audio,
        "fed_exact_audio": reference.fed_exact_audio,
    }
    for part in ("truth", "dynamic", "fed_truth", "fed_dynamic"):
        outputs: Outputs = getattr(reference, part)
        tensors |= {f"{part}.{f.name}": getattr(outputs, f.name) for f in fields(outputs)}
    write_tensors(path, tensors, reference.metadata())


def load_reference(path: Path) -> Reference:
    """Read what `save_reference` wrote.

    Raises ValidationError when the file is missing, damaged or of another version.
    """
    return read_tensors(path, "a stored reference", _reference)


def _reference(tensors: Mapping[str, Array], metadata: Mapping[str, str]) -> Reference:
    return Reference(
        **Request.fields_of(tensors, metadata),
        truth=Trace(**_part(tensors, "truth")),
        dynamic=Trace(**_part(tensors, "dynamic")),
        fed_truth=Outputs(**_part(tensors, "fed_truth")),
        fed_dynamic=Outputs(**_part(tensors, "fed_dynamic")),
        exact_audio=tensors["exact_audio"],
        fed_exact_audio=tensors["fed_exact_audio"],
    )


def _part(tensors: Mapping[str, Array], part: str) -> dict[str, Array]:
    return {
        name.removeprefix(f"{part}."): array for name, array in tensors.items() if name.startswith(f"{part}.")
    }
