"""Why a stage or an artifact is not current: what changed, and what a build would run because of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from kokoro_tvm.builder.diagnostics.causes import Cause, cause
from kokoro_tvm.builder.diagnostics.plan import PlanStep, look_ahead
from kokoro_tvm.builder.diagnostics.plan import to_json as step_to_json
from kokoro_tvm.builder.engine.order import in_order
from kokoro_tvm.builder.engine.stage import Stage
from kokoro_tvm.common.words import format_seconds

__all__ = ["Explanation", "Reason", "explain", "lines", "to_json"]

_SHOWN = 8  # changes


@dataclass(frozen=True)
class Reason:
    """Why one stage is not current: its changes, or its missing or damaged outputs."""

    step: PlanStep
    causes: tuple[Cause, ...]


@dataclass(frozen=True)
class Explanation:
    """Why the subject, or a stage it depends on, is not current.

    reasons: stages that are not current; following: steps of a build in the subject, in stages it depends on
    and in stages that depend on it; others: steps of the rest of the recipe for the same reasons.
    """

    subject: str
    reasons: tuple[Reason, ...]
    following: tuple[PlanStep, ...]
    others: tuple[PlanStep, ...]


def explain(subject: str, wanted: Sequence[Stage], graph: Sequence[Stage]) -> Explanation:
    """Why `wanted`, the stages of the subject, are not current.

    graph: all stages of the recipe, each after those it depends on.
    """
    steps = look_ahead(graph)
    stages = {stage.name: stage for stage in graph}
    concerned = in_order([s.name for s in wanted], lambda name: (s.name for s in stages[name].after))
    reasons = [_reason(s) for s in steps if s.stage.name in concerned and s.state.kind != "current"]
    moved = {r.step.stage.name for r in reasons}
    made_of_it = {stage.name for stage in wanted}
    following: list[PlanStep] = []
    others: list[PlanStep] = []
    for step in steps:
        name = step.stage.name
        if any(s.name in made_of_it for s in step.stage.after):
            made_of_it.add(name)
        if name in moved or moved & set(step.because):
            moved.add(name)
            (following if name in {*concerned, *made_of_it} else others).append(step)
    return Explanation(subject, tuple(reasons), tuple(following), tuple(others))


def lines(explanation: Explanation) -> Iterator[str]:
    """The explanation as text."""
    if not explanation.reasons:
        yield f"{explanation.subject} is current, and so is everything it depends on."
        return
    yield from _failed(explanation.reasons)
    yield from _cannot_run(explanation.reasons)
    yield from _changed(explanation.reasons)
    yield from _damaged(explanation.reasons)
    yield from _unbuilt(explanation.reasons)
    yield "What a build does:"
    width = max(len(s.stage.name) for s in explanation.following)
    for step in explanation.following:
        yield f"  {step.stage.name:<{width}}  {_what(step)}"
    if explanation.others:
        yield f"  and {len(explanation.others)} more of the recipe: `kokoro-tvm plan` shows all"
    if any(s.action == "perhaps" for s in explanation.following):
        yield "Stages after one whose outputs come out equal do not run."


def _section(title: str, lines: Iterable[str]) -> Iterator[str]:
    """A title, its lines and an empty one; nothing where there are no lines."""
    found = list(lines)
    if found:
        yield from (title, *found, "")


def _failed(reasons: Sequence[Reason]) -> Iterator[str]:
    """The errors of the last build."""
    failures = [f for reason in reasons if (f := reason.step.state.failure)]
    return _section("Failed with the current inputs:", (f"  {failure.message}" for failure in failures))


def _cannot_run(reasons: Sequence[Reason]) -> Iterator[str]:
    """What is missing that stages need."""
    problems: dict[str, list[str]] = {}
    for reason in reasons:
        if problem := reason.step.state.problem:
            problems.setdefault(problem, []).append(reason.step.stage.name)
    lines = (f"  {', '.join(stages)}: {problem}" for problem, stages in problems.items())
    return _section("Cannot run here:", lines)


def _changed(reasons: Sequence[Reason]) -> Iterator[str]:
    """Every change once, with the stages that it makes stale: the causes before what follows from them."""
    stale: dict[Cause, list[str]] = {}
    for reason in reasons:
        for change in reason.causes:
            stale.setdefault(change, []).append(reason.step.stage.name)
    ordered = sorted(stale.items(), key=lambda item: item[0].weight)
    lines = [f"  {change}\n    makes stale: {', '.join(stages)}" for change, stages in ordered[:_SHOWN]]
    if len(ordered) > _SHOWN:
        lines.append(f"  and {len(ordered) - _SHOWN} more: `kokoro-tvm explain --json` has all")
    return _section("Changed since the last build:", lines)


def _damaged(reasons: Sequence[Reason]) -> Iterator[str]:
    """Every missing or damaged output."""
    lines = (
        f"  {damage.path} {'is missing' if damage.missing else 'is damaged'} ({reason.step.stage.name})"
        for reason in reasons
        for damage in reason.step.state.damage
    )
    return _section("Missing or damaged outputs:", lines)


def _unbuilt(reasons: Sequence[Reason]) -> Iterator[str]:
    """Stages that were never built, and those whose state is unknown because of them."""
    absent = [r.step for r in reasons if r.step.stage.previous() is None]
    for what, stored in (("Never built", False), ("Not restored yet, but in the store", True)):
        if names := [step.stage.name for step in absent if (step.action == "restore") is stored]:
            yield f"{what}: {', '.join(names)}."
            yield ""
    for reason in reasons:
        state = reason.step.state
        if state.waiting and reason.step not in absent:
            yield f"{reason.step.stage.name} waits for {' and '.join(state.waiting)}."
            yield ""


def _reason(step: PlanStep) -> Reason:
    return Reason(step, tuple(cause(step.stage, c) for c in step.state.changes))


def _what(step: PlanStep) -> str:
    if step.action == "restore":
        return "is restored from the store"
    if step.action == "fail":
        return "fails"
    about = "duration unknown" if step.seconds is None else f"about {format_seconds(step.seconds)}"
    if step.action == "run":
        return f"runs, {about}"
    first, *others = step.because
    if len(others) > 1:
        return f"runs if {first} or {len(others)} others change, {about}"
    return f"runs if {' or '.join(step.because)} changes, {about}"


def to_json(explanation: Explanation) -> dict[str, Any]:
    """The explanation as plain data for JSON."""
    return {
        "subject": explanation.subject,
        "reasons": [
            {
                "stage": reason.step.stage.name,
                "state": reason.step.state.kind,
                "causes": [asdict(c) for c in reason.causes],
                "damage": [
                    {"path": str(d.path), "what": "missing" if d.missing else "damaged"}
                    for d in reason.step.state.damage
                ],
                "waiting": list(reason.step.state.waiting),
                "problem": reason.step.state.problem,
                "failure": asdict(failure) if (failure := reason.step.state.failure) else None,
            }
            for reason in explanation.reasons
        ],
        "following": [step_to_json(step) for step in explanation.following],
        "others": [step_to_json(step) for step in explanation.others],
    }
