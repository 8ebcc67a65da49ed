"""Estimates how long a stage takes, from its past runs or those of a similar stage of another recipe."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from kokoro_tvm.builder.engine.record import StageRecord
from kokoro_tvm.builder.engine.stage import Stage

__all__ = ["Estimate", "estimate"]

_RUNS = 5  # past ones that count


@dataclass(frozen=True)
class Estimate:
    """seconds: the median of the last runs; like: the other stage whose runs they are, None for its own."""

    seconds: float
    like: str | None = None


def estimate(stage: Stage) -> Estimate | None:
    """From the last runs of a stage; if it never ran, from those of the stage nearest to it.

    That is one of the same kind and component in any recipe, of the nearest bucket; of several, the one that
    ran last. None if there is none.
    """
    own = stage.store.history(stage.name)
    if own:
        return Estimate(_median(own))
    kind, component, bucket = _parts(stage.name)
    distances: dict[str, float] = {}
    for name in stage.store.stages():
        other_kind, other_component, other_bucket = _parts(name)
        if (other_kind, other_component) == (kind, component):
            distances[name] = abs(math.log(bucket / other_bucket)) if bucket and other_bucket else 0.0
    past = {name: runs for name in distances if (runs := stage.store.history(name))}
    if not past:
        return None
    nearest = min(past, key=lambda name: (distances[name], -past[name][-1].finished))
    return Estimate(_median(past[nearest]), like=nearest)


def _parts(name: str) -> tuple[str, str, int]:
    """Kind, component and bucket (0: none) of RECIPE.KIND.COMPONENT-BUCKET."""
    _, kind, artifact, *_ = *name.split("."), "", ""
    component, _, bucket = artifact.rpartition("-")
    return (kind, component, int(bucket)) if bucket.isdigit() else (kind, artifact, 0)


def _median(runs: Sequence[StageRecord]) -> float:
    return statistics.median(record.seconds for record in runs[-_RUNS:])
