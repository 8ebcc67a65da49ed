"""References: the stock model's outputs for one utterance, as files. Needs only numpy.

A regime is a dtype of the untouched stock model: `pt.float64` is the truth, `pt.dynamic` is float32, as
people run it. Each regime has two runs:

* *end to end*: one run of the whole model;
* *fed*: every component reads the truth's intermediates rounded to float32. An artifact reads the same
  inputs when it is validated, so neither side inherits errors of earlier components.

`pt.exact` differs from the truth only in the audio: bins that are real in exact arithmetic have that phase,
while in the truth rounding decides between pi and -pi (`ExactPhases`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar, get_type_hints

import numpy as np
from numpy.typing import NDArray

from kokoro_tvm.common.constants import SAMPLES_PER_FRAME, STYLE_DIM
from kokoro_tvm.common.noise import draw_noise
from kokoro_tvm.model.signatures import SIGNATURES
from kokoro_tvm.validation.reference.tensor_file import read_tensors, write_tensors

TRUTH = "pt.float64"
DYNAMIC = "pt.dynamic"
EXACT = "pt.exact"

INPUTS: Mapping[str, tuple[str, ...]] = {
    name: tuple(tensor.name for tensor in signature.inputs) for name, signature in SIGNATURES.items()
}
"""Input names of each component, in the order of its exact signature."""

OUTPUTS: Mapping[str, tuple[str, ...]] = {
    name: tuple(tensor.name for tensor in signature.outputs) for name, signature in SIGNATURES.items()
}
"""Output names of each component, in the order of its signature."""

RESEED = 1_000_003
"""Added to an utterance's seed for the second draw of noise."""

Array = NDArray[Any]


def frame_counts(duration: Array, speed: float) -> NDArray[np.int64]:
    """Round durations to whole frames: max(1, rint(duration / speed)), halves to even.

    Args:
        duration: (1, T) or (T,), in frames at speed 1. The division uses its dtype.
        speed: Factor of the speaking rate.

    Returns:
        (T,) int64.

    Raises:
        ValueError: A duration is not finite.
    """
    counts = np.rint(np.ravel(duration) / duration.dtype.type(speed))
    if not np.isfinite(counts).all():
        raise ValueError("the duration holds values that are not finite")
    return np.maximum(counts, 1).astype(np.int64)


def rounding_margin(duration: Array, speed: float) -> float:
    """Compute the smallest distance of any duration from a rounding boundary, in frames (0 to 0.5).

    An implementation with smaller errors rounds every duration to the same integer. Arguments are those of
    `frame_counts`.
    """
    # Below one frame the count is always one, so rounding 0.5 up or down changes nothing.
    exact = np.maximum(np.ravel(duration) / speed, 1.0)
    return float(np.abs(exact - np.floor(exact) - 0.5).min())


@dataclass(frozen=True, eq=False)
class Request:
    """Inputs of one utterance: tokens, style, speed and noise."""

    name: str
    phonemes: str
    voice: str
    speed: float
    seed: int
    tokens: NDArray[np.int64]
    """(1, T) with the boundary symbol 0 at both ends."""
    ref_s: NDArray[np.float32]
    """(1, 256): the first half is the style of the decoder, the second that of duration and f0n."""
    piece: int = field(default=0, kw_only=True)
    """Index of the piece of a text, which selects its noise. `Synthesizer.run` speaks piece 0."""

    def draw(self, samples: int) -> NDArray[np.float32]:
        """Draw the utterance's noise from the seed, as the compiled decoder does: (samples,) float32."""
        return draw_noise(self.seed, samples, self.piece)

    def source(self) -> dict[str, Any]:
        """Return the noise argument of `Synthesizer.run`: the seed or, for a later piece, the noise."""
        return {"noise": self.draw} if self.piece else {"seed": self.seed}

    def metadata(self) -> dict[str, str]:
        """Return the fields that are not arrays as safetensors metadata."""
        values = {"name": self.name, "phonemes": self.phonemes, "voice": self.voice}
        return values | {"speed": repr(self.speed), "seed": str(self.seed), "piece": str(self.piece)}


@dataclass(frozen=True, eq=False)
class Outputs:
    """Outputs of the five components in one run, in the regime's dtype (float64 or float32)."""

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
class ReferenceTrace(Outputs):
    """End-to-end run of the stock model."""

    durations: NDArray[np.int64]
    """(T,) frames of every token at the utterance's speed."""
    en: Array
    """(1, 640, F) prosody features, one column a frame."""
    asr: Array
    """(1, 512, F) text encoding, one column a frame."""


@dataclass(frozen=True, eq=False)
class Rendering:
    """Speech of one implementation for one request."""

    audio: NDArray[Any]
    """(600F,) samples at 24 kHz, float64 or float32."""
    durations: NDArray[np.int64]
    """(T,) frames of every token."""
    f0: NDArray[Any]
    """(1, 2F) pitch in Hz, as the model predicts it."""


class _TrueLength:
    """Mixin: the lengths of an utterance according to the truth."""

    tokens: NDArray[np.int64]
    truth: Any

    @property
    def frames(self) -> int:
        """Sum of the truth's durations."""
        return int(self.truth.durations.sum())

    def length(self, axis: str) -> int:
        """Return the valid length on `axis`, "tokens" or "frames"."""
        return {"tokens": self.tokens.shape[1], "frames": self.frames}[axis]


@dataclass(frozen=True, eq=False)
class Reference(_TrueLength, Request):
    """One utterance and its runs of the stock model: both regimes, end to end and fed."""

    truth: ReferenceTrace
    """pt.float64, end to end."""
    dynamic: ReferenceTrace
    """pt.dynamic, end to end."""
    fed_truth: Outputs
    """pt.float64, every component fed `inputs`."""
    fed_dynamic: Outputs
    """pt.dynamic, every component fed `inputs`."""
    exact_audio: NDArray[np.float64]
    """(600F,) pt.exact, end to end."""
    fed_exact_audio: NDArray[np.float64]
    """(600F,) pt.exact, the decoder fed `inputs`."""

    def noise(self) -> NDArray[np.float32]:
        """Draw the utterance's noise: (1, 600F) float32. The file does not hold it."""
        return self.draw(SAMPLES_PER_FRAME * self.frames)[None]

    def inputs(self, component: str) -> dict[str, Array]:
        """Return the inputs of one component by name: the truth's intermediates rounded to float32.

        Arrays are contiguous and have the shapes of the component's exact signature; tokens are int64.

        Raises:
            KeyError: There is no such component.
        """
        half = slice(None, STYLE_DIM) if component == "decoder" else slice(STYLE_DIM, None)
        inputs: dict[str, Array] = {}
        for name in INPUTS[component]:
            match name:
                case "tokens":
                    inputs[name] = self.tokens
                case "style":
                    inputs[name] = np.ascontiguousarray(self.ref_s[:, half])
                case "noise":
                    inputs[name] = self.noise()
                case _:
                    inputs[name] = np.ascontiguousarray(getattr(self.truth, name), dtype=np.float32)
        return inputs

    def rounding_margin(self) -> float:
        """Compute the truth's smallest distance from a rounding boundary, in frames (0 to 0.5)."""
        return rounding_margin(self.truth.duration, self.speed)


@dataclass(frozen=True, eq=False)
class SpeechReference(_TrueLength, Request):
    """End-to-end renderings of one utterance, for `validate e2e`.

    It takes a tenth of the space of a `Reference`, and half of the work.
    """

    duration: NDArray[np.float64]
    """(1, T) frames of every token at speed 1, before rounding, in float64."""
    truth: Rendering
    """pt.float64."""
    dynamic: Rendering
    """pt.dynamic."""
    reseeded: Rendering
    """pt.float64 with the noise of seed + RESEED."""
    exact_audio: NDArray[np.float64]
    """(600F,) pt.exact, end to end."""

    def rounding_margin(self) -> float:
        """Compute the truth's smallest distance from a rounding boundary, in frames (0 to 0.5)."""
        return rounding_margin(self.duration, self.speed)


_R = TypeVar("_R", Reference, SpeechReference)


def save_reference(reference: Reference | SpeechReference, path: Path) -> None:
    """Write a reference atomically as one safetensors file."""
    arrays: dict[str, Array] = {}
    parts: dict[str, Array] = {}
    for name, value in vars(reference).items():
        if isinstance(value, np.ndarray):
            arrays[name] = value
        elif is_dataclass(value):
            parts |= {f"{name}.{part}": array for part, array in vars(value).items()}
    write_tensors(path, arrays | parts, reference.metadata())


def load_reference(path: Path) -> Reference:
    """Read a reference. Raises ValidationError if the file is missing, damaged or of another version."""
    return read_tensors(path, "a stored reference", partial(_build, Reference))


def load_speech(path: Path) -> SpeechReference:
    """Read a speech reference. Raises ValidationError as `load_reference` does."""
    return read_tensors(path, "a reference of speech", partial(_build, SpeechReference))


def _build(kind: type[_R], tensors: Mapping[str, Array], metadata: Mapping[str, str]) -> _R:
    """Build a record from a file's tensors and metadata. Raises KeyError or ValueError."""
    values: dict[str, Any] = {key: metadata[key] for key in ("name", "phonemes", "voice")}
    values |= {"speed": float(metadata["speed"])}
    values |= {key: int(metadata[key]) for key in ("seed", "piece")}
    hints = get_type_hints(kind)
    for name in [f.name for f in fields(kind) if f.name not in values]:
        if is_dataclass(hints[name]):
            parts = [part.name for part in fields(hints[name])]
            values[name] = hints[name](**{part: tensors[f"{name}.{part}"] for part in parts})
        else:
            values[name] = tensors[name]
    return kind(**values)
