"""Judge measured values by a recipe's gates: verdicts and reports. Needs no torch.

`min_snr_db: 60` requires `snr_db` of at least 60, `max_…` at most. `min_snr_db: null` switches a gate off,
and it is reported as not run. Some gates are built in: finite values, equal durations, equal lengths.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Protocol

from kokoro_tvm.common.errors import ValidationError

if TYPE_CHECKING:
    from kokoro_tvm.recipe.gates import Gates

SCHEMA = 1


@dataclass(frozen=True)
class Verdict:
    """One gate and whether it was met; without a limit it is switched off."""

    gate: str
    """Name in the recipe, such as min_snr_db."""
    value: float
    """Measured value; NaN meets no gate."""
    limit: float | None
    passed: bool
    where: str = ""
    """Output, such as f0; empty for the whole."""

    @property
    def status(self) -> str:
        """`passed`, `failed`, or `not run`."""
        if self.limit is None:
            return "not run"
        return "passed" if self.passed else "failed"

    @property
    def shortfall(self) -> float:
        """Distance of the value from the limit, as a share of the limit; infinite for NaN."""
        if self.limit is None or math.isnan(self.value):
            return math.inf
        distance = abs(self.value - self.limit)
        return distance / abs(self.limit) if self.limit else distance

    def to_json(self) -> dict[str, Any]:
        """Return the fields as JSON data."""
        return {"output": self.where} | to_json(self, "gate", "value", "limit", "status")

    def __str__(self) -> str:
        """`f0: snr_db 41.2, min_snr_db 60`."""
        measured = self.gate.removeprefix("min_").removeprefix("max_")
        subject = f"{self.where}: " if self.where else ""
        limit = "not run" if self.limit is None else f"{self.limit:.6g}"
        return f"{subject}{measured} {self.value:.6g}, {self.gate} {limit}"


@dataclass(frozen=True)
class UtteranceReport:
    """One utterance: metrics of every output, and verdicts."""

    name: str
    length: int
    """Tokens or frames, by the axis of the artifact; frames for speech."""
    reason: str = ""
    """Why it was not run; empty if it was. Such an utterance never counts as passed."""
    outputs: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    verdicts: tuple[Verdict, ...] = ()

    @property
    def status(self) -> str:
        """`passed`, `failed`, or `not run: REASON`."""
        if self.reason:
            return f"not run: {self.reason}"
        judged = {v.status for v in self.verdicts} - {"not run"}
        return "passed" if judged == {"passed"} else "failed"

    def to_json(self) -> dict[str, Any]:
        """Return the fields as JSON data."""
        return to_json(self, "name", "length", "status", "outputs", "verdicts")


@dataclass(frozen=True)
class Report:
    """All measurements of one artifact, or of a bundle (`component` is then "speech")."""

    component: str
    bucket: int | None
    """Largest length of the artifact; None if the bundle chooses."""
    enforce: bool
    """False if the recipe's gates only report (`length: padded`)."""
    utterances: tuple[UtteranceReport, ...]
    overall: tuple[Verdict, ...] = ()
    """Verdicts over all utterances that ran."""
    runner: str = ""
    """Runner and its version; empty if nothing ran."""

    @property
    def passed(self) -> bool:
        """True if at least one utterance ran and all that ran met every gate."""
        statuses = [u.status for u in self.utterances]
        return "passed" in statuses and not self.missed()

    def missed(self) -> list[str]:
        """List every missed gate, the worst first, and whether nothing ran; one line each."""
        judged = [(f"{u.name}: ", v) for u in self.utterances for v in u.verdicts]
        lines = missed_lines([*judged, *(("", v) for v in self.overall)])
        if all(u.reason for u in self.utterances):
            reasons = "; ".join(f"{u.name} of {u.length}: {u.reason}" for u in self.utterances)
            lines.append(f"no utterance could be run ({reasons or 'there is none'})")
        return lines

    def require(self) -> None:
        """Raise ValidationError with the worst missed gate, if any was missed and gates are enforced."""
        if self.enforce and not self.passed:
            subject = self.component if self.bucket is None else f"{self.component}-{self.bucket}"
            raise ValidationError(
                f"{subject} did not pass: {summarize_missed(self.missed())}. "
                "Look at the report beside it; a gate is changed, and an utterance added, in the recipe."
            )

    def to_json(self) -> dict[str, Any]:
        """Return the report as JSON data; infinities and NaN become "inf", "-inf" and "nan"."""
        head = to_json(self, "component", "bucket", "passed", "enforce", "runner")
        return {"schema": SCHEMA, **head, "missed": self.missed(), **to_json(self, "utterances", "overall")}


def missed_lines(verdicts: Iterable[tuple[str, Verdict]]) -> list[str]:
    """List the missed gates of (prefix, verdict), the worst first."""
    missed = [(prefix, verdict) for prefix, verdict in verdicts if verdict.status == "failed"]
    return [f"{prefix}{verdict}" for prefix, verdict in sorted(missed, key=lambda pair: -pair[1].shortfall)]


def summarize_missed(lines: Sequence[str]) -> str:
    """Return the first line and the number of all lines; the report has the others."""
    more = f" (the worst of {len(lines)} missed gates)" if len(lines) > 1 else ""
    return f"{lines[0]}{more}"


def limits_of(gates: Gates, component: str, without: str | None = None) -> dict[str, float | None]:
    """Return the limits of a component by gate; None for a gate that is switched off.

    Args:
        gates: The recipe's gates.
        component: A component, "speech" or "corpus".
        without: Leave out gates with this word in their names, such as "exact" or "frame".
    """
    limits: dict[str, float | None] = getattr(gates, component).model_dump()
    return {gate: limit for gate, limit in limits.items() if without not in gate.split("_")}


def judge(
    measured: Mapping[str, float], limits: Mapping[str, float | None], where: str = ""
) -> list[Verdict]:
    """Judge the metrics of one utterance by limits; gates of medians are left to `judge_medians`.

    Args:
        measured: Values by metric.
        limits: Limits by gate.
        where: Output, for messages.

    Raises:
        ValidationError: A gate is neither min_ nor max_, or its metric was not measured.
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
    """Judge the medians over all utterances; without measurements there are no verdicts.

    Args:
        measured: Values by metric of every utterance. A median with NaN is NaN.
        limits: Limits by gate.
        where: Output, for messages.
    """
    medians = {gate: metric for gate in limits if measured and (metric := _median_of(gate))}
    verdicts = []
    for gate, metric in medians.items():
        values, limit = [metrics[metric] for metrics in measured], limits[gate]
        value = math.nan if any(map(math.isnan, values)) else median(values)
        verdicts.append(Verdict(gate, value, limit, limit is not None and value >= limit, where))
    return verdicts


def _median_of(gate: str) -> str:
    """Return the metric of a gate of medians, or an empty string for any other gate."""
    return gate.removeprefix("min_median_") if gate.startswith("min_median_") else ""


def judge_output(
    measured: Mapping[str, float], limits: Mapping[str, float | None], where: str
) -> list[Verdict]:
    """Judge an output by limits, and by the built-in gate that every value is finite."""
    fraction = measured["finite_fraction"]
    finite = Verdict("min_finite_fraction", fraction, 1.0, fraction == 1.0, where)
    return [finite, *judge(measured, limits, where)]


def none_off(gate: str, off: float, where: str) -> Verdict:
    """Judge a count by the built-in gate `gate`, which allows none."""
    return Verdict(gate, off, 0.0, off == 0, where)


class Jsonable(Protocol):
    """A report."""

    def to_json(self) -> dict[str, Any]:
        """Return the report as JSON data."""
        ...


def write_report(report: Jsonable, path: Path) -> None:
    """Write a report as JSON, atomically."""
    text = json.dumps(report.to_json(), indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    path.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=path.parent, prefix=".report-") as folder:
        partial = Path(folder) / path.name
        partial.write_text(text, encoding="utf-8")
        partial.replace(path)


def to_json(record: object, *names: str) -> dict[str, Any]:
    """Return attributes of a record as JSON data; infinities and NaN become "inf", "-inf" and "nan"."""
    return {name: _convert(getattr(record, name)) for name in names}


def _convert(value: Any) -> Any:
    """Convert a value, and the values in it, to JSON data; records by their `to_json`."""
    if isinstance(value, Mapping):
        return {key: _convert(item) for key, item in value.items()}
    if isinstance(value, tuple):
        return [_convert(item) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    return value.to_json() if hasattr(value, "to_json") else value
