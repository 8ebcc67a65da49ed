"""Predicts which stages a build would run, and how long they take."""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, Literal

from kokoro_tvm.builder.engine.record import StageRecord
from kokoro_tvm.builder.engine.stage import Stage
from kokoro_tvm.builder.engine.state import State

Action = Literal["nothing", "restore", "run", "perhaps", "fail"]
_RUNS = 5  # past runs that an estimate counts


@dataclass(frozen=True)
class PlanStep:
    """A stage, its state, and what a build would do about it.

    Attributes:
        stage: The stage.
        state: Its state now.
        action: What a build would do; `perhaps`: run it if a stage before it writes something else.
        because: Names of the stages before it whose outputs may change.
    """

    stage: Stage
    state: State
    action: Action
    because: tuple[str, ...] = ()

    @property
    def seconds(self) -> float | None:
        """Median duration of the stage's last runs; None if it never ran here."""
        if self.action not in ("run", "perhaps"):
            return 0.0
        runs = self.stage.store.history(self.stage.name)[-_RUNS:]
        return statistics.median(record.seconds for record in runs) if runs else None

    def to_json(self) -> dict[str, Any]:
        """Return the step as plain data for JSON."""
        return {
            "stage": self.stage.name,
            "state": self.state.kind,
            "action": self.action,
            "seconds": self.seconds,
            "because": list(self.because),
        }


def plan_build(stages: Iterable[Stage]) -> list[PlanStep]:
    """Predict what a build does about each stage. Stages come after those that they depend on.

    A stage after one that is restored is judged by the restored outputs. A stage after one that runs runs
    only perhaps, because that one may write what it wrote before. Damage is repaired to what was there, so
    nothing follows from it.
    """
    distinct = list({stage.name: stage for stage in stages}.values())
    with ExitStack() as overlays:
        stores = {id(stage.store): stage.store for stage in distinct}
        expected = {name: overlays.enter_context(store.expect_records()) for name, store in stores.items()}
        changing: set[str] = set()  # names of the stages whose outputs may change
        return [_plan_stage(stage, changing, expected[id(stage.store)]) for stage in distinct]


def _plan_stage(stage: Stage, changing: set[str], expected: dict[str, StageRecord]) -> PlanStep:
    """Predict one stage; add its name to `changing`, or the record that it will have to `expected`."""
    state = stage.state()
    because = tuple(before.name for before in stage.after if before.name in changing)
    action: Action
    if state.kind == "current":
        action = "perhaps" if because else "nothing"
    elif not because and (record := stage.kept()) is not None:
        action = "restore"
        expected[stage.name] = record
    else:
        action = "fail" if state.problem else "run"
    if because or (action in ("run", "fail") and not state.damage):
        changing.add(stage.name)
    return PlanStep(stage, state, action, because)
