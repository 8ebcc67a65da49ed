"""Simulates a build, to say how long it takes."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from kokoro_tvm.builder.diagnostics.plan import PlanStep
from kokoro_tvm.builder.engine.resources import Budget

_NONE: Mapping[str, float] = MappingProxyType({})


@dataclass(frozen=True)
class Forecast:
    """A build whose stages take what they took before.

    Attributes:
        steps: What the build does.
        workers: Number of stages that run at the same time.
        budget: Memory and cores, which stages share.
    """

    steps: Sequence[PlanStep]
    workers: int
    budget: Budget = field(default_factory=Budget)

    def seconds(self, running: Mapping[str, float] = _NONE, ended: Collection[str] = ()) -> float:
        """Return how long the rest of the build takes. Stages of unknown duration count as 0 s.

        Args:
            running: Seconds since the start of each stage that runs, by name.
            ended: Names of the stages that have ended.
        """
        stages = {step.stage.name: step.stage for step in self.steps if step.action in ("run", "perhaps")}
        left = {
            step.stage.name: max((step.seconds or 0.0) - running.get(step.stage.name, 0.0), 0.0)
            for step in self.steps
            if step.stage.name in stages and step.stage.name not in ended
        }
        ends = {name: left[name] for name in running if name in left}
        now = 0.0
        while left:
            for name in [name for name in left if name not in ends]:
                needs, others = stages[name].needs, [stages[other].needs for other in ends]
                is_ready = not any(before.name in left for before in stages[name].after)
                if is_ready and len(ends) < self.workers and self.budget.fits(needs, others):
                    ends[name] = now + left[name]
            first = min(ends, key=lambda name: ends[name])
            now = ends.pop(first)
            del left[first]
        return now
