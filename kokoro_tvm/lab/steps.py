"""One utterance in every regime, compared step by step."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kokoro_tvm.errors import InputError, ValidationError
from kokoro_tvm.lab.setting import Lab
from kokoro_tvm.recipe import Utterance
from kokoro_tvm.validate.compare import Pair, compare
from kokoro_tvm.validate.engine import chain
from kokoro_tvm.validate.reference import DYNAMIC, TRUTH
from kokoro_tvm.validate.steps import Steps

__all__ = ["DEFAULT_PAIRS", "REGIMES", "StepsReport", "parse_pairs", "regimes", "report_steps"]

REGIMES = (TRUTH, DYNAMIC, "pt.masked", "pt.padded", "tvm")
DEFAULT_PAIRS = (
    (TRUTH, "tvm"),
    (TRUTH, DYNAMIC),
    (TRUTH, "pt.masked"),
    (DYNAMIC, "tvm"),
    (DYNAMIC, "pt.padded"),
)
"""(reference, value)."""


@dataclass(frozen=True)
class StepsReport:
    """Everything `validate steps` found about one utterance."""

    bundle: str
    utterance: Utterance
    frames: int
    pairs: tuple[Pair, ...]

    @property
    def missed(self) -> list[str]:
        """Of every judged pair that misses a gate: the first step that does, in one line."""
        lines = []
        for pair in self.pairs:
            row = pair.first_missed
            if pair.judged and row is not None:
                failed = "; ".join(str(v) for v in row.verdicts if v.status == "failed")
                lines.append(f"{pair}: the first step that misses its gate is {row.step} ({failed})")
        return lines

    def require(self) -> None:
        """Raise ValidationError, naming the first step of every judged pair that missed a gate."""
        if self.missed:
            raise ValidationError(f"{self.bundle} missed gates. {'. '.join(self.missed)}.")

    def to_json(self) -> dict[str, Any]:
        """Plain data for a JSON file."""
        return {
            "schema": 1,
            "bundle": self.bundle,
            "utterance": self.utterance.model_dump(mode="json"),
            "frames": self.frames,
            "passed": not self.missed,
            "missed": self.missed,
            "pairs": [pair.to_json() for pair in self.pairs],
        }


def parse_pairs(text: str) -> tuple[tuple[str, str], ...]:
    """Pairs of regimes from "pt.float64:tvm,pt.dynamic:tvm". Raises InputError."""
    pairs = []
    for word in text.split(","):
        reference, _, value = (part.strip() for part in word.partition(":"))
        if reference not in REGIMES or value not in REGIMES or reference == value:
            raise InputError(
                f"{word.strip()!r} is no pair of regimes. A pair is REFERENCE:VALUE, two of "
                f"{', '.join(REGIMES)}."
            )
        pairs.append((reference, value))
    return tuple(pairs)


def regimes(
    lab: Lab,
    utterance: Utterance,
    wanted: Iterable[str] = REGIMES,
    buckets: Mapping[str, int] | None = None,
    given_durations: bool = False,
) -> dict[str, Steps]:
    """One utterance in these regimes, by name; all of them get the same noise.

    `buckets`: the static shape (tokens, frames) of pt.masked and pt.padded, the smallest usual one unless
    given. `given_durations`: all align by the truth's durations. Raises TooLongError, RecipeError,
    BundleError, BuildError.
    """
    names = set(wanted)
    found = dict(lab.store.steps(utterance))
    inputs = lab.inputs_of(utterance)
    durations = found[TRUTH].values["pred_dur"] if given_durations else None
    if "tvm" in names:
        lab.progress(f"tvm, {utterance.name}, every step")
        found["tvm"] = chain(lab.tvm, **inputs, durations=durations)
    policies = [policy for policy in ("masked", "padded") if f"pt.{policy}" in names]
    if policies:
        shapes = {axis: (bucket,) for axis, bucket in buckets.items()} if buckets else None
        with lab.eager(policies, shapes) as engines:
            for engine in engines.values():
                lab.progress(f"{engine.regime}, {utterance.name}, every step")
                found[engine.regime] = chain(engine, **inputs, durations=durations)
    return found


def report_steps(
    lab: Lab,
    utterance: Utterance,
    found: Mapping[str, Steps],
    pairs: Sequence[tuple[str, str]] = DEFAULT_PAIRS,
) -> StepsReport:
    """Compare what `regimes` found, pair by pair."""
    compared = [compare(found[value], found[ref], lab.recipe.gates, found[DYNAMIC]) for ref, value in pairs]
    return StepsReport(str(lab.bundle.root), utterance, found[TRUTH].frames, tuple(compared))
