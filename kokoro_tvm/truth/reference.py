"""What the stock model makes of one utterance, kept in a file that validation only loads (numpy only).

Regimes: `pt.float64`, the truth, and `pt.dynamic`, both the stock model untouched, the latter in float32, as
people run it. Each is kept twice. *End to end* is one run of the whole model. *Fed* is the same model with
every component given the truth's intermediates rounded to float32: exactly what an artifact is given when it
is validated, so that artifact and PyTorch are compared on the same inputs and neither answers for what came
before it.

Beside the truth stands `pt.exact`, of which only the audio differs: float64 with the phases of those bins
that are real in exact arithmetic, where in the truth rounding decides between pi and -pi
(`truth.stock.ExactPhases`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar, get_type_hints

import numpy as np
from numpy.typing import NDArray

from kokoro_tvm.constants import SAMPLES_PER_FRAME, STYLE_DIM
from kokoro_tvm.model.signatures import SIGNATURES
from kokoro_tvm.noise import draw_noise
from kokoro_tvm.truth.tensor_file import read_tensors, write_tensors

__all__ = [
    "DYNAMIC",
    "EXACT",
    "INPUTS",
    "OUTPUTS",
    "RESEED",
    "TRUTH",
    "Outputs",
    "Reference",
    "Rendering",
    "Request",
    "SpeechReference",
    "Trace",
    "frame_counts",
    "load_reference",
    "load_speech",
    "rounding_margin",
    "save_reference",
]

TRUTH = "pt.float64"
DYNAMIC = "pt.dynamic"
EXACT = "pt.exact"

INPUTS: Mapping[str, tuple[str, ...]] = {
    name: tuple(tensor.name for tensor in signature.inputs) for name, signature in SIGNATURES.items()
}
"""Names of each component's inputs, in the order of its exact signature."""

OUTPUTS: Mapping[str, tuple[str, ...]] = {
    name: tuple(tensor.name for tensor in signature.outputs) for name, signature in SIGNATURES.items()
}
"""Names of each component's outputs, in the order of its signature."""

RESEED = 1_000_003
"""Added to an utterance's seed for the second draw of noise."""

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
class Request:
    """What is to be spoken, by which voice, with which noise."""

    name: str
    phonemes: str
    voice: str
    speed: float
    seed: int
    tokens: NDArray[np.int64]
    """(1, T) with the boundary symbol 0 at both ends."""
    ref_s: NDArray[np.float32]
    """(1, 256): the first half is the decoder's style, the second duration's and f0n's."""
    piece: int = field(default=0, kw_only=True)
    """Which piece of a text has this noise; `Synthesizer.run` speaks the first, 0."""

    def draw(self, samples: int) -> NDArray[np.float32]:
        """The utterance's noise, (samples,) float32, as the compiled decoder draws it from the seed."""
        return draw_noise(self.seed, samples, self.piece)

    def source(self) -> dict[str, Any]:
        """What `Synthesizer.run` makes its noise of: the seed or, for a later piece of a text, the noise."""
        return {"noise": self.draw} if self.piece else {"seed": self.seed}

    def metadata(self) -> dict[str, str]:
        """The fields that are not arrays, as a safetensors file keeps them."""
        values = {"name": self.name, "phonemes": self.phonemes, "voice": self.voice}
        return values | {"speed": repr(self.speed), "seed": str(self.seed), "piece": str(self.piece)}


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
class Rendering:
    """One side's speech for one request."""

    audio: NDArray[Any]
    """(600F,) samples at 24 kHz, float64 or float32."""
    durations: NDArray[np.int64]
    """(T,) frames of every token."""
    f0: NDArray[Any]
    """(1, 2F) pitch in Hz, as the model predicts it."""


class _OfTruth:
    """How long an utterance is, by the truth."""

    tokens: NDArray[np.int64]
    truth: Any

    @property
    def frames(self) -> int:
        """F, by the truth's durations."""
        return int(self.truth.durations.sum())

    def length(self, axis: str) -> int:
        """Valid length on `axis`, "tokens" or "frames"."""
        return {"tokens": self.tokens.shape[1], "frames": self.frames}[axis]


@dataclass(frozen=True, eq=False)
class Reference(_OfTruth, Request):
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


@dataclass(frozen=True, eq=False)
class SpeechReference(_OfTruth, Request):
    """The stock model's renderings of one utterance, end to end: the yardstick of `e2e`, a tenth of the size
    of a `Reference`, and half the work.
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
        """Distance in frames of the least certain duration from a rounding boundary, 0 to 0.5."""
        return rounding_margin(self.duration, self.speed)


_R = TypeVar("_R", Reference, SpeechReference)


def save_reference(reference: Reference | SpeechReference, path: Path) -> None:
    """Write a reference as one safetensors file; `path` appears whole or not at all."""
    arrays: dict[str, Array] = {}
    parts: dict[str, Array] = {}
    for name, value in vars(reference).items():
        if isinstance(value, np.ndarray):
            arrays[name] = value
        elif is_dataclass(value):
            parts |= {f"{name}.{part}": array for part, array in vars(value).items()}
    write_tensors(path, arrays | parts, reference.metadata())


def load_reference(path: Path) -> Reference:
    """Read what `save_reference` wrote.

    Raises ValidationError when the file is missing, damaged or of another version.
    """
    return read_tensors(path, "a stored reference", partial(_made, Reference))


def load_speech(path: Path) -> SpeechReference:
    """The same of a reference of speech."""
    return read_tensors(path, "a reference of speech", partial(_made, SpeechReference))


def _made(kind: type[_R], tensors: Mapping[str, Array], metadata: Mapping[str, str]) -> _R:
    values: dict[str, Any] = {key: metadata[key] for key in ("name", "phonemes", "voice")}
    values |= {"speed": float(metadata["speed"])}
    values |= {key: int(metadata[key]) for key in ("seed", "piece")}
    hints = get_type_hints(kind)
    for name in [each.name for each in fields(kind) if each.name not in values]:
        if is_dataclass(hints[name]):
            parts = [part.name for part in fields(hints[name])]
            values[name] = hints[name](**{part: tensors[f"{name}.{part}"] for part in parts})
        else:
            values[name] = tensors[name]
    return kind(**values)
