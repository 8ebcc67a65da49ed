"""What a build would run, for certain or perhaps, and how long that takes."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, Literal

from kokoro_tvm.builder.diagnostics.estimate import Estimate, estimate
from kokoro_tvm.builder.engine.record import StageRecord
from kokoro_tvm.builder.engine.stage import Stage
from kokoro_tvm.builder.engine.state import State

__all__ = ["Action", "PlanStep", "look_ahead", "to_json", "together"]

Action = Literal["nothing", "restore", "run", "perhaps", "fail"]


@dataclass(frozen=True)
class PlanStep:
    """One stage: its state, what a build does about it, and how long that takes (None: unknown).

    because: the stages before it whose outputs may change, and with them its inputs.
    """

    stage: Stage
    state: State
    action: Action
    estimate: Estimate | None
    because: tuple[str, ...] = ()

    @property
    def seconds(self) -> float | None:
        return None if self.estimate is None else self.estimate.seconds


def look_ahead(stages: Iterable[Stage]) -> list[PlanStep]:
    """A step for every stage, which come after those they depend on.

    What comes after one that is restored is judged by what that will hold. What runs may write what it wrote
    before: whatever comes after it runs only perhaps. Nothing follows from damage, which is repaired to what
    was there.
    """
    distinct = list({stage.name: stage for stage in stages}.values())
    with ExitStack() as entered:
        stores = {id(stage.store): stage.store for stage in distinct}
        expected = {name: entered.enter_context(store.expecting()) for name, store in stores.items()}
        moving: set[str] = set()  # stages whose outputs may change
        return [_step(stage, moving, expected[id(stage.store)]) for stage in distinct]


def _step(stage: Stage, moving: set[str], expected: dict[str, StageRecord]) -> PlanStep:
    state = stage.state()
    because = tuple(s.name for s in stage.after if s.name in moving)
    action: Action
    if state.kind == "current":
        action = "perhaps" if because else "nothing"
    elif not because and (kept := stage.kept()) is not None:
        action = "restore"
        expected[stage.name] = kept
    else:
        action = "fail" if state.problem else "run"
    if because or (action in ("run", "fail") and not state.damage):
        moving.add(stage.name)
    seconds = Estimate(0.0) if action in ("nothing", "restore", "fail") else estimate(stage)
    return PlanStep(stage, state, action, seconds, because)


def together(steps: Sequence[PlanStep], jobs: int = 1) -> float:
    """Seconds until all have run, `jobs` at a time, in their order as soon as what they need is done.

    Those of unknown duration count as none.
    """
    ends: dict[str, float] = {}
    free = [0.0] * jobs  # when each worker is free
    for step in steps:
        ready = max((ends.get(s.name, 0.0) for s in step.stage.after), default=0.0)
        seconds = step.seconds or 0.0
        if seconds == 0.0:
            ends[step.stage.name] = ready
            continue
        start = max(ready, heapq.heappop(free))
        ends[step.stage.name] = start + seconds
        heapq.heappush(free, start + seconds)
    return max(ends.values(), default=0.0)


def to_json(step: PlanStep) -> dict[str, Any]:
    """As commands print it for programs."""
    return {
        "stage": step.stage.name,
        "state": step.state.kind,
        "action": step.action,
        "seconds": step.seconds,
        "like": step.estimate.like if step.estimate else None,
        "because": list(step.because),
    }
