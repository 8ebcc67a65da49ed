"""What a build would run, for certain or perhaps, and how long that takes."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from kokoro_tvm.diagnostics.estimate import Estimate, estimate
from kokoro_tvm.engine.stage import Stage
from kokoro_tvm.engine.state import State

__all__ = ["Action", "Step", "look_ahead", "to_json", "together"]

Action = Literal["nothing", "restore", "run", "perhaps", "fail"]


@dataclass(frozen=True)
class Step:
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


def look_ahead(stages: Iterable[Stage]) -> list[Step]:
    """A step for every stage, which come after those they depend on.

    What runs may write what it wrote before: whatever comes after it runs only perhaps. Nothing follows from
    damage, which is repaired to what was there, nor from restoring what there is already.
    """
    steps: dict[str, Step] = {}
    moving: set[str] = set()  # stages whose outputs may change
    for stage in stages:
        if stage.name in steps:
            continue
        state = stage.state()
        because = tuple(s.name for s in stage.after if s.name in moving)
        action: Action
        if state.kind == "current":
            action = "perhaps" if because else "nothing"
        elif state.stored and not because:
            action = "restore"
        else:
            action = "fail" if state.problem else "run"
        anew = action in ("run", "fail") and not state.damage
        if because or anew or (action == "restore" and _differs(stage)):
            moving.add(stage.name)
        expected = Estimate(0.0) if action in ("nothing", "restore", "fail") else estimate(stage)
        steps[stage.name] = Step(stage, state, action, expected, because)
    return list(steps.values())


def _differs(stage: Stage) -> bool:
    """Whether what the store has of it is something else than there is now."""
    kept, now = stage.store.record(stage.key()), stage.previous()
    return kept is None or now is None or kept.outputs != now.outputs


def together(steps: Sequence[Step], jobs: int = 1) -> float:
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


def to_json(step: Step) -> dict[str, Any]:
    """As commands print it for programs."""
    return {
        "stage": step.stage.name,
        "state": step.state.kind,
        "action": step.action,
        "seconds": step.seconds,
        "like": step.estimate.like if step.estimate else None,
        "because": list(step.because),
    }
