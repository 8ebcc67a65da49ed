"""Intermediate values of one utterance in one regime, from text features to audio. Needs only numpy.

Time is the last axis of every value. A value is the valid part of an array. Padding behind it is reduced to a
`Tail`, because a bucket of 5,120 frames would take gigabytes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kokoro_tvm.common.constants import SAMPLES_PER_FRAME
from kokoro_tvm.validation.reference.tensor_file import read_tensors, write_tensors

Array = NDArray[Any]


@dataclass(frozen=True)
class Step:
    """Description of one intermediate value.

    `component` computes it or the value that it is gathered from. A compiled component does not return an
    `inner` value.
    """

    name: str
    component: str
    axis: str
    """Axis of its length, "tokens" or "frames"."""
    factor: int = 1
    plus: int = 0
    inner: bool = False
    exact: bool = False
    """The values are integers and must be equal."""
    steady: bool = True
    """False if a phase near pi may come out near -pi, which is inaudible: no gate applies."""

    def extent(self, length: int) -> int:
        """Convert a number of tokens or frames to elements along time."""
        return self.factor * length + self.plus


STEPS: tuple[Step, ...] = (
    Step("d_en", "bert", "tokens"),
    Step("d", "duration", "tokens"),
    Step("logits", "duration", "tokens", inner=True),
    Step("duration", "duration", "tokens"),
    Step("pred_dur", "duration", "tokens", exact=True),
    Step("alignment", "duration", "frames", exact=True),
    Step("en", "duration", "frames"),
    Step("f0", "f0n", "frames", 2),
    Step("n", "f0n", "frames", 2),
    Step("t_en", "text_encoder", "tokens"),
    Step("asr", "text_encoder", "frames"),
    Step("source", "decoder", "frames", SAMPLES_PER_FRAME, inner=True),
    Step("encode", "decoder", "frames", inner=True),
    Step("decode.0", "decoder", "frames", inner=True),
    Step("decode.1", "decoder", "frames", inner=True),
    Step("decode.2", "decoder", "frames", inner=True),
    Step("decode.3", "decoder", "frames", 2, inner=True),
    Step("generator.0", "decoder", "frames", 20, inner=True, steady=False),
    Step("generator.1", "decoder", "frames", 120, 1, inner=True, steady=False),
    Step("spectrum", "decoder", "frames", 120, 1, inner=True),
    Step("audio", "decoder", "frames", SAMPLES_PER_FRAME),
)
"""All steps in the order of computation. Shapes for T tokens and F frames: d_en and t_en (1, 512, T), d (1,
640, T), logits (1, 50, T), duration (1, T) in frames at speed 1, pred_dur (T,) in frames, alignment (F,)
the token of every frame, en (1, 640, F), asr (1, 512, F), f0 in Hz and n (1, 2F), source (1, 600F) the
excitation, encode to decode.2 (1, 1024, F), decode.3 (1, 512, 2F), generator.0 (1, 256, 20F) and
generator.1 (1, 128, 120F + 1) the means of a stage's residual blocks, spectrum (1, 22, 120F + 1) log
magnitudes and what the phases are the sines of, audio (600F,)."""


@dataclass(frozen=True)
class Tail:
    """Summary of the padding behind the valid part of a value."""

    elements: int
    max_abs: float
    """Largest magnitude of the finite elements."""
    finite_fraction: float

    def to_json(self) -> dict[str, Any]:
        """Return the fields as JSON data."""
        return asdict(self)


@dataclass(frozen=True, eq=False)
class Steps:
    """Values of one utterance in one regime by step name, and why others are missing."""

    regime: str
    values: Mapping[str, Array]
    tails: Mapping[str, Tail] = field(default_factory=dict)
    """Padding of the values with a static shape longer than the utterance."""
    missing: Mapping[str, str] = field(default_factory=dict)
    """Reason by step name."""

    def __post_init__(self) -> None:
        unaccounted = {s.name for s in STEPS} ^ (self.values.keys() | self.missing.keys())
        if unaccounted or self.values.keys() & self.missing.keys():
            raise ValueError(
                f"steps that are unknown, or both or neither of present and missing: {sorted(unaccounted)}"
            )

    @property
    def tokens(self) -> int:
        """Number of tokens."""
        return int(self.values["pred_dur"].size)

    @property
    def frames(self) -> int:
        """Number of frames."""
        return int(self.values["alignment"].size)


def split_tail(value: Array, extent: int) -> tuple[Array, Tail | None]:
    """Copy the first `extent` elements along time and summarize the rest; None if there is no rest."""
    valid = np.array(value[..., :extent], order="C", copy=True)
    behind = value[..., extent:]
    if not behind.size:
        return valid, None
    finite = np.isfinite(behind)
    largest = np.abs(behind, where=finite, out=np.zeros_like(behind)).max()
    return valid, Tail(int(behind.size), float(largest), float(finite.mean()))


def save_steps(steps: Steps, path: Path) -> None:
    """Write steps atomically as one safetensors file."""
    metadata = {
        "regime": steps.regime,
        "tails": json.dumps({name: tail.to_json() for name, tail in steps.tails.items()}),
        "missing": json.dumps(dict(steps.missing)),
    }
    write_tensors(path, steps.values, metadata)


def load_steps(path: Path) -> Steps:
    """Read steps. Raises ValidationError if the file is missing, damaged or of another version."""
    return read_tensors(path, "the steps of an utterance", _build_steps)


def _build_steps(values: Mapping[str, Array], metadata: Mapping[str, str]) -> Steps:
    """Build the steps of a file's tensors and metadata. Raises KeyError or ValueError."""
    tails = {name: Tail(**fields) for name, fields in json.loads(metadata["tails"]).items()}
    return Steps(metadata["regime"], values, tails, json.loads(metadata["missing"]))
