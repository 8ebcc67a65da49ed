"""One regime beside another, step by step, with the recipe's gates held against every step (numpy only)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kokoro_tvm.validate.gates import Verdict, judge, limits_of, number
from kokoro_tvm.validate.metrics import (
    correlation,
    finite_fraction,
    magnitude_correlation,
    max_abs,
    mean_abs,
    rms_error,
    snr_db,
)
from kokoro_tvm.validate.reference import DYNAMIC, TRUTH
from kokoro_tvm.validate.steps import STEPS, Step, Steps, Tail

if TYPE_CHECKING:
    from kokoro_tvm.recipe.gates import Gates

__all__ = ["Pair", "StepRow", "compare", "measure"]

Array = NDArray[Any]


@dataclass(frozen=True)
class StepRow:
    """One step of one pair. Without metrics it could not be compared, and `reason` says why."""

    step: str
    metrics: Mapping[str, float] | None
    """mean_abs, max_abs, rms_error (in the step's own unit), snr_db, correlation, finite_fraction; of audio
    also magnitude_correlation, and gain_db beside PyTorch float32 where the truth is the reference."""
    tail: Tail | None = None
    """What stands behind the valid part, where there is a static shape."""
    verdicts: tuple[Verdict, ...] = ()
    reason: str = ""

    @property
    def status(self) -> str:
        """`passed`, `failed`, or `not run` where no gate could be held against it."""
        judged = {v.status for v in self.verdicts} - {"not run"}
        if not judged:
            return "not run"
        return "passed" if judged == {"passed"} else "failed"

    def to_json(self) -> dict[str, Any]:
        """Plain data for a JSON file."""
        return {
            "step": self.step,
            "status": self.status,
            "reason": self.reason,
            "metrics": {k: number(v) for k, v in self.metrics.items()} if self.metrics else None,
            "tail": self.tail.to_json() if self.tail else None,
            "verdicts": [v.to_json() for v in self.verdicts],
        }


@dataclass(frozen=True)
class Pair:
    """`value` measured against `reference`, two regimes, at every step.

    judged: whether a missed gate counts. Gates are about the truth, so only what is compared with it is
    judged; and PyTorch float32 is what gains are measured from, not what is built here.
    """

    reference: str
    value: str
    rows: tuple[StepRow, ...]

    @property
    def judged(self) -> bool:
        return self.reference == TRUTH and self.value != DYNAMIC

    @property
    def first_missed(self) -> StepRow | None:
        """The first step that misses a gate."""
        return next((row for row in self.rows if row.status == "failed"), None)

    def __str__(self) -> str:
        return f"{self.reference}:{self.value}"

    def to_json(self) -> dict[str, Any]:
        """Plain data for a JSON file."""
        first = self.first_missed
        return {
            "reference": self.reference,
            "value": self.value,
            "judged": self.judged,
            "first_missed": first.step if first else None,
            "steps": [row.to_json() for row in self.rows],
        }


def compare(value: Steps, reference: Steps, gates: Gates, pytorch: Steps | None = None) -> Pair:
    """Measure every step of `value` against `reference`; `pytorch` (pt.dynamic) is what gains are over.

    A step's limit is its component's min_snr_db, if it is steady; audio has the gates of speech; whole
    numbers must be equal and values finite in any case.
    """
    rows = [_row(step, value, reference, gates, pytorch) for step in STEPS]
    return Pair(reference.regime, value.regime, tuple(rows))


def measure(value: Array, reference: Array) -> dict[str, float]:
    """The metrics of any two arrays of one shape, by name."""
    return {
        "mean_abs": mean_abs(value, reference),
        "max_abs": max_abs(value, reference),
        "rms_error": rms_error(value, reference),
        "snr_db": snr_db(value, reference),
        "correlation": correlation(value, reference),
        "finite_fraction": finite_fraction(value),
    }


def _row(step: Step, value: Steps, reference: Steps, gates: Gates, pytorch: Steps | None) -> StepRow:
    name = step.name
    for steps in (value, reference):
        if name in steps.missing:
            return StepRow(name, None, reason=f"not available: {steps.regime}, {steps.missing[name]}")
    a, r = value.values[name], reference.values[name]
    tail = value.tails.get(name)
    if step.name == "alignment" and a.shape != r.shape:
        wrong = Verdict("max_durations_off", math.nan, 0.0, False, name)
        return StepRow(name, None, tail, (wrong,), f"{a.size} frames against {r.size}")
    if a.shape != r.shape:
        length = f"{value.frames} frames against {reference.frames}"
        return StepRow(name, None, tail, reason=f"nothing to compare: {length}")
    metrics = measure(a, r)
    finite = metrics["finite_fraction"]
    if step.exact:
        off = float(np.count_nonzero(a != r))
        return StepRow(name, metrics, tail, (Verdict("max_durations_off", off, 0.0, off == 0, name),))
    verdicts = [Verdict("min_finite_fraction", finite, 1.0, finite == 1.0, name)]
    if name == "audio":
        limits = limits_of(gates, "speech")
        metrics["magnitude_correlation"] = magnitude_correlation(a, r)
        if reference.regime == TRUTH and value.regime != DYNAMIC and pytorch is not None:
            metrics["gain_db"] = _gain(metrics["snr_db"], pytorch.values[name], r)
        else:
            limits.pop("min_gain_db")
    elif not step.steady:
        limits = {}
    else:
        limits = {"min_snr_db": limits_of(gates, step.component)["min_snr_db"]}
    return StepRow(name, metrics, tail, (*verdicts, *judge(metrics, limits, name)))


def _gain(snr: float, pytorch: Array, truth: Array) -> float:
    """dB nearer to the truth than PyTorch float32; not a number where that comes to another length."""
    if pytorch.shape != truth.shape:
        return math.nan
    theirs = snr_db(pytorch, truth)
    return 0.0 if snr == theirs else snr - theirs
