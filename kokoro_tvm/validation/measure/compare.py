"""One regime beside another, step by step, with the recipe's gates held against every step (numpy only)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from kokoro_tvm.validation.measure.gates import Verdict, judge_output, limits_of, none_off, number
from kokoro_tvm.validation.measure.metrics import count_off, measure, measure_audio
from kokoro_tvm.validation.reference.reference import DYNAMIC, TRUTH
from kokoro_tvm.validation.reference.steps import STEPS, Step, Steps, Tail

if TYPE_CHECKING:
    from kokoro_tvm.recipe.gates import Gates

__all__ = ["Pair", "StepRow", "compare"]

Array = NDArray[Any]


@dataclass(frozen=True)
class StepRow:
    """One step of one pair. Without metrics it could not be compared, and `reason` says why."""

    step: str
    metrics: Mapping[str, float] | None
    """Those of `measure`; of audio those of `measure_audio`, beside PyTorch float32 where the truth is the
    reference."""
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


def _row(step: Step, value: Steps, reference: Steps, gates: Gates, pytorch: Steps | None) -> StepRow:
    name = step.name
    for steps in (value, reference):
        if name in steps.missing:
            return StepRow(name, None, reason=f"not available: {steps.regime}, {steps.missing[name]}")
    a, r = value.values[name], reference.values[name]
    tail = value.tails.get(name)
    if step.name == "alignment" and a.shape != r.shape:
        wrong = none_off("max_durations_off", math.nan, name)
        return StepRow(name, None, tail, (wrong,), f"{a.size} frames against {r.size}")
    if a.shape != r.shape:
        length = f"{value.frames} frames against {reference.frames}"
        return StepRow(name, None, tail, reason=f"nothing to compare: {length}")
    if step.exact:
        wrong = none_off("max_durations_off", count_off(a, r), name)
        return StepRow(name, measure(a, r), tail, (wrong,))
    limits: dict[str, float | None] = {}
    if name == "audio":
        gains = reference.regime == TRUTH and value.regime != DYNAMIC
        theirs = pytorch.values[name] if gains and pytorch is not None else None
        metrics = measure_audio(a, r, theirs)
        limits = limits_of(gates, "speech", without="exact")
        if theirs is None:
            del limits["min_gain_db"]
    else:
        metrics = measure(a, r)
        if step.steady:
            limits = {"min_snr_db": limits_of(gates, step.component)["min_snr_db"]}
    return StepRow(name, metrics, tail, tuple(judge_output(metrics, limits, name)))
