"""Measured values against a recipe's gates: verdicts, and the report beside the artifact (no torch).

A gate's name says what it is: `min_snr_db: 60` wants the measured `snr_db` to be at least 60, `max_…` at
most; `min_snr_db: null` is a gate the recipe switched off, which is reported as not run. Some gates stand
in no recipe because nothing may ever miss them: finite values, equal durations, equal lengths.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Protocol

from kokoro_tvm.common.errors import ValidationError

if TYPE_CHECKING:
    from kokoro_tvm.recipe.gates import Gates

__all__ = [
    "Jsonable",
    "Report",
    "UtteranceReport",
    "Verdict",
    "judge",
    "judge_medians",
    "judge_output",
    "limits_of",
    "missed_lines",
    "none_off",
    "number",
    "summarize_missed",
    "write_report",
]

SCHEMA = 1


@dataclass(frozen=True)
class Verdict:
    """One gate and whether it was met; without a limit it was switched off and met nothing."""

    gate: str
    """The gate's name as the recipe writes it, e.g. min_snr_db."""
    value: float
    """What was measured. NaN meets no gate."""
    limit: float | None
    passed: bool
    where: str = ""
    """The output it is about, e.g. f0; empty when it is about the whole."""

    @property
    def status(self) -> str:
        """`passed`, `failed`, or `not run`."""
        if self.limit is None:
            return "not run"
        return "passed" if self.passed else "failed"

    @property
    def shortfall(self) -> float:
        """How far the value is from the limit, as a share of the limit; infinite for NaN."""
        if self.limit is None or math.isnan(self.value):
            return math.inf
        distance = abs(self.value - self.limit)
        return distance / abs(self.limit) if self.limit else distance

    def to_json(self) -> dict[str, Any]:
        """Plain data for a JSON file."""
        limit = None if self.limit is None else number(self.limit)
        value = number(self.value)
        judged = {"output": self.where, "gate": self.gate, "value": value, "limit": limit}
        return judged | {"status": self.status}

    def __str__(self) -> str:
        """`f0: snr_db 41.2, min_snr_db 60`."""
        measured = self.gate.removeprefix("min_").removeprefix("max_")
        subject = f"{self.where}: " if self.where else ""
        limit = "not run" if self.limit is None else f"{self.limit:.6g}"
        return f"{subject}{measured} {self.value:.6g}, {self.gate} {limit}"


@dataclass(frozen=True)
class UtteranceReport:
    """One utterance: what was measured of every output, and the verdicts."""

    name: str
    length: int
    """On the artifact's axis (tokens or frames); frames for speech."""
    reason: str = ""
    """Empty when it ran; otherwise such as "longer than the bucket". Never counts as passed."""
    outputs: Mapping[str, Mapping[str, float]] | None = None
    verdicts: tuple[Verdict, ...] = ()

    @property
    def status(self) -> str:
        """`passed`, `failed`, or `not run: <reason>`."""
        if self.reason:
            return f"not run: {self.reason}"
        judged = {v.status for v in self.verdicts} - {"not run"}
        return "passed" if judged == {"passed"} else "failed"


@dataclass(frozen=True)
class Report:
    """Everything measured of one artifact, or of a whole bundle (`component` is then "speech")."""

    component: str
    bucket: int | None
    """The artifact's largest length; None when the bundle chooses."""
    enforce: bool
    """False when the recipe's gates only report (`length: padded`)."""
    utterances: tuple[UtteranceReport, ...]
    overall: tuple[Verdict, ...] = ()
    """Of all utterances that ran, together."""
    runner: str = ""
    """What ran the code, with its version; empty where nothing did."""

    @property
    def passed(self) -> bool:
        """True when at least one utterance ran and all that ran met every gate."""
        statuses = [u.status for u in self.utterances]
        return "passed" in statuses and not self.missed()

    def missed(self) -> list[str]:
        """List every missed gate, the worst first, and that nothing could run; one line each."""
        judged = [(f"{u.name}: ", v) for u in self.utterances for v in u.verdicts]
        lines = missed_lines([*judged, *(("", v) for v in self.overall)])
        if all(u.reason for u in self.utterances):
            reasons = "; ".join(f"{u.name} of {u.length}: {u.reason}" for u in self.utterances)
            lines.append(f"no utterance could be run ({reasons or 'there is none'})")
        return lines

    def require(self) -> None:
        """Raise ValidationError with the worst missed gate, unless all was met or the gates only report."""
        if self.enforce and not self.passed:
            subject = self.component if self.bucket is None else f"{self.component}-{self.bucket}"
            raise ValidationError(
                f"{subject} did not pass: {summarize_missed(self.missed())}. "
                "Look at the report beside it; a gate is changed, and an utterance added, in the recipe."
            )

    def to_json(self) -> dict[str, Any]:
        """Plain data for a JSON file; what JSON cannot write as a number stands as "inf", "-inf" or "nan"."""
        return {
            "schema": SCHEMA,
            "component": self.component,
            "bucket": self.bucket,
            "passed": self.passed,
            "enforce": self.enforce,
            "runner": self.runner,
            "missed": self.missed(),
            "utterances": [
                {
                    "name": u.name,
                    "length": u.length,
                    "status": u.status,
                    "outputs": {
                        output: {metric: number(value) for metric, value in metrics.items()}
                        for output, metrics in (u.outputs or {}).items()
                    },
                    "verdicts": [v.to_json() for v in u.verdicts],
                }
                for u in self.utterances
            ],
            "overall": [v.to_json() for v in self.overall],
        }


def missed_lines(verdicts: Iterable[tuple[str, Verdict]]) -> list[str]:
    """List the gates that were missed, the worst first, each after the words that say where."""
    missed = [(where, verdict) for where, verdict in verdicts if verdict.status == "failed"]
    return [f"{where}{verdict}" for where, verdict in sorted(missed, key=lambda pair: -pair[1].shortfall)]


def summarize_missed(lines: Sequence[str]) -> str:
    """Return the first line, and how many others there are: the report beside an error has them all."""
    more = f" (the worst of {len(lines)} missed gates)" if len(lines) > 1 else ""
    return f"{lines[0]}{more}"


def limits_of(gates: Gates, component: str, without: str | None = None) -> dict[str, float | None]:
    """A component's limits by gate name, from a recipe's gates ("speech": the whole); None: switched off.

    without: leaves out the gates that have this word in their names: "exact" where there is no float64 run
    with exact phases, "frame" where there are too few frames for percentiles.
    """
    limits: dict[str, float | None] = getattr(gates, component).model_dump()
    return {gate: limit for gate, limit in limits.items() if without not in gate.split("_")}


def judge(
    measured: Mapping[str, float], limits: Mapping[str, float | None], where: str = ""
) -> list[Verdict]:
    """Hold measured values (by metric name) of one utterance against limits (by gate name), in the limits'
    order; those of medians, which one utterance has none of, are for `judge_medians`.

    Raises ValidationError for a gate that is neither min_ nor max_, or whose value was not measured: a gate
    that is silently left out would look like one that was met.
    """
    verdicts = []
    for gate, limit in limits.items():
        if _median_of(gate):
            continue
        bound, _, metric = gate.partition("_")
        if bound not in {"min", "max"} or metric not in measured:
            raise ValidationError(
                f"The gate {gate} cannot be judged{f' for {where}' if where else ''}: measured are "
                f"{', '.join(measured) or 'no values'}, and a gate is min_ or max_ with one of them."
            )
        value = measured[metric]
        met = limit is not None and (value >= limit if bound == "min" else value <= limit)
        verdicts.append(Verdict(gate, value, limit, bool(met), where))
    return verdicts


def judge_medians(
    measured: Sequence[Mapping[str, float]], limits: Mapping[str, float | None], where: str = ""
) -> list[Verdict]:
    """Hold the medians of what was measured of all utterances against the limits of medians; NaN meets none.

    Nothing is judged where nothing was measured.
    """
    medians = {gate: metric for gate in limits if measured and (metric := _median_of(gate))}
    verdicts = []
    for gate, metric in medians.items():
        values, limit = [one[metric] for one in measured], limits[gate]
        value = math.nan if any(map(math.isnan, values)) else median(values)
        verdicts.append(Verdict(gate, value, limit, limit is not None and value >= limit, where))
    return verdicts


def _median_of(gate: str) -> str:
    """What a gate of the utterances' median is a median of; empty for any other gate."""
    return gate.removeprefix("min_median_") if gate.startswith("min_median_") else ""


def judge_output(
    measured: Mapping[str, float], limits: Mapping[str, float | None], where: str
) -> list[Verdict]:
    """`judge`, after the gate that stands in no recipe: every value of an output is finite."""
    fraction = measured["finite_fraction"]
    finite = Verdict("min_finite_fraction", fraction, 1.0, fraction == 1.0, where)
    return [finite, *judge(measured, limits, where)]


def none_off(gate: str, off: float, where: str) -> Verdict:
    """The verdict of a gate that stands in no recipe: nothing may be off."""
    return Verdict(gate, off, 0.0, off == 0, where)


class Jsonable(Protocol):
    """What has been measured and judged, in whatever arrangement."""

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        ...


def write_report(report: Jsonable, path: Path) -> None:
    """Write a report as JSON; `path` appears whole or not at all."""
    text = json.dumps(report.to_json(), indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    path.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=path.parent, prefix=".report-") as folder:
        partial = Path(folder) / path.name
        partial.write_text(text, encoding="utf-8")
        partial.replace(path)


def number(value: float) -> float | str:
    """A value as JSON can write it: as a number, or as "inf", "-inf" or "nan"."""
    return value if math.isfinite(value) else str(value)
