"""Explains why a stage or an artifact is not current, and what a build would run because of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

from kokoro_tvm.builder.diagnostics.causes import Cause, find_cause
from kokoro_tvm.builder.diagnostics.plan import PlanStep, plan_build
from kokoro_tvm.builder.engine.order import in_order
from kokoro_tvm.builder.engine.stage import Stage
from kokoro_tvm.common.words import format_seconds

T = TypeVar("T")
_MAX_CHANGES = 8  # that the text lists


@dataclass(frozen=True)
class Explanation:
    """Why the subject, or a stage that it depends on, is not current.

    Attributes:
        subject: What the user asked about.
        reasons: The steps of stages that are not current, with the causes of each.
        following: What a build does in the subject, in stages before it and in stages after it.
        others: What a build does in the rest of the recipe for the same reasons.
    """

    subject: str
    reasons: tuple[tuple[PlanStep, tuple[Cause, ...]], ...]
    following: tuple[PlanStep, ...]
    others: tuple[PlanStep, ...]

    def lines(self) -> Iterator[str]:
        """Yield the explanation as lines of text."""
        if not self.reasons:
            yield f"{self.subject} is current, and so is everything it depends on."
            return
        steps = [step for step, _ in self.reasons]
        failures = [step.state.failure for step in steps if step.state.failure]
        yield from _section(
            "Failed with the current inputs:", (f"  {failure.message}" for failure in failures)
        )
        problems = _group((step.state.problem, step.stage.name) for step in steps if step.state.problem)
        yield from _section("Cannot run here:", (f"  {names}: {text}" for text, names in problems.items()))
        yield from _section("Changed since the last build:", self._changes())
        damage = (
            f"  {damage.path} {'is missing' if damage.missing else 'is damaged'} ({step.stage.name})"
            for step in steps
            for damage in step.state.damage
        )
        yield from _section("Missing or damaged outputs:", damage)
        yield from _unbuilt(steps)
        yield "What a build does:"
        width = max(len(step.stage.name) for step in self.following)
        for step in self.following:
            yield f"  {step.stage.name:<{width}}  {_describe(step)}"
        if self.others:
            yield f"  and {len(self.others)} more of the recipe: `kokoro-tvm plan` shows all"
        if any(step.action == "perhaps" for step in self.following):
            yield "Stages after one whose outputs come out equal do not run."

    def _changes(self) -> Iterator[str]:
        """Yield every change once, with the stages that it makes stale; likely consequences come last."""
        stale = _group((change, step.stage.name) for step, causes in self.reasons for change in causes)
        ordered = sorted(stale.items(), key=lambda item: item[0].weight)
        for change, names in ordered[:_MAX_CHANGES]:
            yield f"  {change}\n    makes stale: {names}"
        if len(ordered) > _MAX_CHANGES:
            yield f"  and {len(ordered) - _MAX_CHANGES} more: `kokoro-tvm explain --json` has all"

    def to_json(self) -> dict[str, Any]:
        """Return the explanation as plain data for JSON."""
        return {
            "subject": self.subject,
            "reasons": [
                {
                    "stage": step.stage.name,
                    "state": step.state.kind,
                    "causes": [asdict(cause) for cause in causes],
                    "damage": [
                        {"path": str(damage.path), "what": "missing" if damage.missing else "damaged"}
                        for damage in step.state.damage
                    ],
                    "waiting": list(step.state.waiting),
                    "problem": step.state.problem,
                    "failure": asdict(failure) if (failure := step.state.failure) else None,
                }
                for step, causes in self.reasons
            ],
            "following": [step.to_json() for step in self.following],
            "others": [step.to_json() for step in self.others],
        }


def explain(subject: str, targets: Sequence[Stage], graph: Sequence[Stage]) -> Explanation:
    """Explain why stages are not current.

    Args:
        subject: The words of the user that mean `targets`.
        targets: The stages to explain.
        graph: All stages of the recipe, each after those that it depends on.
    """
    steps = plan_build(graph)
    stages = {stage.name: stage for stage in graph}
    upstream = in_order([stage.name for stage in targets], lambda name: (s.name for s in stages[name].after))
    reasons = tuple(
        (step, tuple(find_cause(step.stage, change) for change in step.state.changes))
        for step in steps
        if step.stage.name in upstream and step.state.kind != "current"
    )
    affected = {step.stage.name for step, _ in reasons}
    downstream = {stage.name for stage in targets}
    following: list[PlanStep] = []
    others: list[PlanStep] = []
    for step in steps:
        name = step.stage.name
        if any(before.name in downstream for before in step.stage.after):
            downstream.add(name)
        if name in affected or affected & set(step.because):
            affected.add(name)
            (following if name in {*upstream, *downstream} else others).append(step)
    return Explanation(subject, reasons, tuple(following), tuple(others))


def _group(pairs: Iterable[tuple[T, str]]) -> dict[T, str]:
    """Join the names of equal keys with commas."""
    groups: dict[T, list[str]] = {}
    for key, name in pairs:
        groups.setdefault(key, []).append(name)
    return {key: ", ".join(names) for key, names in groups.items()}


def _section(title: str, lines: Iterable[str]) -> Iterator[str]:
    """Yield a title, its lines and an empty line; nothing if there are no lines."""
    body = list(lines)
    if body:
        yield from (title, *body, "")


def _unbuilt(steps: Sequence[PlanStep]) -> Iterator[str]:
    """Yield the stages that were never built, and those whose state is unknown because of them."""
    absent = [step for step in steps if step.stage.previous() is None]
    for title, is_stored in (("Never built", False), ("Not restored yet, but in the store", True)):
        if names := [step.stage.name for step in absent if (step.action == "restore") is is_stored]:
            yield f"{title}: {', '.join(names)}."
            yield ""
    for step in steps:
        if step.state.waiting and step not in absent:
            yield f"{step.stage.name} waits for {' and '.join(step.state.waiting)}."
            yield ""


def _describe(step: PlanStep) -> str:
    """Return what a build does about a stage, and how long that takes."""
    if step.action == "restore":
        return "is restored from the store"
    if step.action == "fail":
        return "fails"
    duration = "duration unknown" if step.seconds is None else f"about {format_seconds(step.seconds)}"
    if step.action == "run":
        return f"runs, {duration}"
    first, *others = step.because
    if len(others) > 1:
        return f"runs if {first} or {len(others)} others change, {duration}"
    return f"runs if {' or '.join(step.because)} changes, {duration}"
