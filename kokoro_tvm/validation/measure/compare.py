"""Compare two regimes step by step and judge every step by the recipe's gates. Needs only numpy."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from kokoro_tvm.validation.measure.gates import Verdict, judge_output, limits_of, none_off, to_json
from kokoro_tvm.validation.measure.metrics import count_off, measure, measure_audio
from kokoro_tvm.validation.reference.reference import DYNAMIC, TRUTH
from kokoro_tvm.validation.reference.steps import STEPS, Step, Steps, Tail

if TYPE_CHECKING:
    from kokoro_tvm.recipe.gates import Gates

Array = NDArray[Any]


@dataclass(frozen=True)
class StepRow:
    """One step of one pair; if it has no metrics, `reason` says why."""

    step: str
    metrics: Mapping[str, float] | None
    """By `measure`, audio by `measure_audio`; with PyTorch float32 if the reference is the truth."""
    tail: Tail | None = None
    """Padding behind the valid part of a static shape."""
    verdicts: tuple[Verdict, ...] = ()
    reason: str = ""

    @property
    def status(self) -> str:
        """`passed`, `failed`, or `not run` if no gate applies."""
        judged = {v.status for v in self.verdicts} - {"not run"}
        if not judged:
            return "not run"
        return "passed" if judged == {"passed"} else "failed"

    def to_json(self) -> dict[str, Any]:
        """Return the fields as JSON data."""
        return to_json(self, "step", "status", "reason", "metrics", "tail", "verdicts")


@dataclass(frozen=True)
class Pair:
    """The regime `value` compared with the regime `reference` at every step."""

    reference: str
    value: str
    rows: tuple[StepRow, ...]

    @property
    def judged(self) -> bool:
        """True if a missed gate counts: gates are about a bundle against the truth."""
        return self.reference == TRUTH and self.value != DYNAMIC

    @property
    def first_missed(self) -> StepRow | None:
        """The first step that misses a gate, or None."""
        return next((row for row in self.rows if row.status == "failed"), None)

    def __str__(self) -> str:
        return f"{self.reference}:{self.value}"

    def to_json(self) -> dict[str, Any]:
        """Return the fields as JSON data."""
        first = {"first_missed": self.first_missed.step if self.first_missed else None}
        steps = {"steps": [row.to_json() for row in self.rows]}
        return to_json(self, "reference", "value", "judged") | first | steps


def compare(value: Steps, reference: Steps, gates: Gates, pytorch: Steps | None = None) -> Pair:
    """Compare every step of two regimes.

    A steady step must have its component's min_snr_db, and audio meets the gates of speech. Integers must be
    equal, and all values finite.

    Args:
        value: Steps to judge.
        reference: Steps to compare with.
        gates: The recipe's gates.
        pytorch: Steps of pt.dynamic, for gains.
    """
    rows = [_compare_step(step, value, reference, gates, pytorch) for step in STEPS]
    return Pair(reference.regime, value.regime, tuple(rows))


def _compare_step(step: Step, value: Steps, reference: Steps, gates: Gates, pytorch: Steps | None) -> StepRow:
    """Measure and judge one step of two regimes; without a value to compare, give the reason."""
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
