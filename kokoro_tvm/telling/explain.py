"""Why a stage or an artifact is not current: what changed, and what a build does because of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from kokoro_tvm.build.order import in_order
from kokoro_tvm.build.stage import Stage
from kokoro_tvm.build.units import shown_seconds
from kokoro_tvm.telling.naming import Cause, cause
from kokoro_tvm.telling.outlook import Step, look_ahead
from kokoro_tvm.telling.outlook import to_json as step_to_json

__all__ = ["Explanation", "Reason", "explain", "lines", "to_json"]


@dataclass(frozen=True)
class Reason:
    """Why one stage is not current: what changed, or which outputs are missing or hold something else."""

    step: Step
    causes: tuple[Cause, ...]


@dataclass(frozen=True)
class Explanation:
    """What was asked about, and why it, or what it is made of, is not current.

    following: what a build does about it, about what it is made of and what is made of it; others: because of
    the same, in the rest of the recipe.
    """

    subject: str
    reasons: tuple[Reason, ...]
    following: tuple[Step, ...]
    others: tuple[Step, ...]


def explain(subject: str, asked: Sequence[Stage], graph: Sequence[Stage]) -> Explanation:
    """asked: the stages it is about; graph: all of the recipe, each after those it depends on."""
    steps = look_ahead(graph)
    stages = {stage.name: stage for stage in graph}
    concerned = in_order([s.name for s in asked], lambda name: (s.name for s in stages[name].after))
    reasons = [_reason(s) for s in steps if s.stage.name in concerned and s.state.kind != "current"]
    moved = {r.step.stage.name for r in reasons}
    made_of_it = {stage.name for stage in asked}
    following: list[Step] = []
    others: list[Step] = []
    for step in steps:
        name = step.stage.name
        if any(s.name in made_of_it for s in step.stage.after):
            made_of_it.add(name)
        if name in moved or moved & set(step.because):
            moved.add(name)
            (following if name in {*concerned, *made_of_it} else others).append(step)
    return Explanation(subject, tuple(reasons), tuple(following), tuple(others))


def lines(told: Explanation) -> Iterator[str]:
    """The explanation, as one reads it."""
    if not told.reasons:
        yield f"{told.subject} is current: a build leaves it, and all that it is made of, as it is."
        return
    yield from _failed(told.reasons)
    yield from _changed(told.reasons)
    yield from _damaged(told.reasons)
    yield from _unbuilt(told.reasons)
    yield "What a build does about it:"
    width = max(len(s.stage.name) for s in told.following)
    for step in told.following:
        yield f"  {step.stage.name:<{width}}  {_what(step)}"
    if told.others:
        yield f"  and {len(told.others)} more of the recipe: `kokoro-tvm plan` shows all"
    if any(s.action == "perhaps" for s in told.following):
        yield "A stage that writes what it wrote before ends it there: what is made of that alone stays."


def _failed(reasons: Sequence[Reason]) -> Iterator[str]:
    """What went wrong when it was last tried."""
    failures = [f for reason in reasons if (f := reason.step.state.failure)]
    if failures:
        yield "Failed with what it is made of now:"
        yield from (f"  {failure.message}" for failure in failures)
        yield ""


def _changed(reasons: Sequence[Reason]) -> Iterator[str]:
    """Every change once, and the stages that it makes stale."""
    stale: dict[Cause, list[str]] = {}
    for reason in reasons:
        for change in reason.causes:
            stale.setdefault(change, []).append(reason.step.stage.name)
    if stale:
        yield "Changed since the last build:"
    for change, stages in stale.items():
        yield f"  {change}"
        yield f"    makes stale: {', '.join(stages)}"
    if stale:
        yield ""


def _damaged(reasons: Sequence[Reason]) -> Iterator[str]:
    """Every output that is not as it was written."""
    found = [(r.step.stage.name, damage) for r in reasons for damage in r.step.state.damage]
    if found:
        yield "Not as it was written:"
    for stage, damage in found:
        yield f"  {damage.path} {'is missing' if damage.missing else 'is damaged'} ({stage})"
    if found:
        yield ""


def _unbuilt(reasons: Sequence[Reason]) -> Iterator[str]:
    """What was never built, and what cannot be judged because of that."""
    absent = [r.step for r in reasons if r.step.stage.previous() is None]
    for what, stored in (("Never built", False), ("Not here, though the store has it", True)):
        if names := [step.stage.name for step in absent if step.state.stored is stored]:
            yield f"{what}: {', '.join(names)}."
            yield ""
    for reason in reasons:
        state = reason.step.state
        if state.waiting and reason.step not in absent:
            yield f"{reason.step.stage.name} cannot be judged before {' and '.join(state.waiting)}."
            yield ""


def _reason(step: Step) -> Reason:
    return Reason(step, tuple(cause(step.stage, c) for c in step.state.changes))


def _what(step: Step) -> str:
    if step.action == "restore":
        return "is restored: the store has it"
    about = "for how long is not known" if step.seconds is None else f"about {shown_seconds(step.seconds)}"
    if step.action == "run":
        return f"runs, {about}"
    first, *others = step.because
    if len(others) > 1:
        return f"runs if {first} or {len(others)} others change, {about}"
    return f"runs if {' or '.join(step.because)} changes, {about}"


def to_json(told: Explanation) -> dict[str, Any]:
    """As the command prints it for programs."""
    return {
        "subject": told.subject,
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
                "failure": asdict(failure) if (failure := reason.step.state.failure) else None,
            }
            for reason in told.reasons
        ],
        "following": [step_to_json(step) for step in told.following],
        "others": [step_to_json(step) for step in told.others],
    }
