"""Schedules, `schedules/*.json` beside the recipes: what `kokoro-tvm tune` found faster than the rules.

A schedule is for CPUs of one set of features, whatever they are called, and for every recipe whose code is
generated for that set.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

from pydantic import Field

from kokoro_tvm.common.constants import ComponentName
from kokoro_tvm.common.errors import RecipeError
from kokoro_tvm.common.output import write_text
from kokoro_tvm.common.spec import Spec
from kokoro_tvm.recipe.validate import read_document

__all__ = ["LayerChoice", "Schedule", "choices", "read_schedules", "schedule_path", "write_schedule"]


class LayerChoice(Spec):
    """Minimal filtering of so many outputs and taps (1 and 1: plain convolution); register tiles a block."""

    outputs: int = Field(ge=1, le=12)
    taps: int = Field(ge=1, le=12)
    tiles: Annotated[int, Field(ge=1, le=1024)]

    def __str__(self) -> str:
        return f"F({self.outputs}, {self.taps}), tiles: {self.tiles}"


class Schedule(Spec):
    """features: all that the code may use of a CPU, as `Machine.required` has them; measured_on: the CPU that
    it was measured on, which decides nothing; components: component -> layer -> what to take in place of the
    rule. Other layers go by the rules."""

    features: Annotated[tuple[str, ...], Field(min_length=1, strict=False)]
    measured_on: str
    components: dict[ComponentName, dict[str, LayerChoice]]

    def is_for(self, features: Sequence[str]) -> bool:
        """Whether it is for machines with exactly these features."""
        return set(self.features) == set(features)


def choices(
    schedules: Sequence[Schedule], features: Sequence[str], component: str
) -> Mapping[str, LayerChoice]:
    """Layer -> what to take in place of the rule, on a machine with these features; empty where no schedule
    is for such."""
    for schedule in schedules:
        if schedule.is_for(features):
            return {str(name): layers for name, layers in schedule.components.items()}.get(component, {})
    return {}


def schedule_path(recipes: Path, cpu: str, features: Sequence[str]) -> Path:
    """Where the schedule for these features is written; cpu: LLVM's name, for people."""
    digest = hashlib.sha256(" ".join(sorted(features)).encode()).hexdigest()
    return recipes / "schedules" / f"{cpu}-{digest[:8]}.json"


def read_schedules(recipes: Path) -> tuple[Schedule, ...]:
    """All schedules of a folder of recipes. Raises RecipeError, with the place of the fault, and for two that
    are for the same features."""
    found: dict[frozenset[str], tuple[Path, Schedule]] = {}
    for path in sorted((recipes / "schedules").glob("*.json")):
        schedule = read_document(path, Schedule)  # JSON is YAML too, and then every value has a place
        before, _ = found.setdefault(frozenset(schedule.features), (path, schedule))
        if before != path:
            raise RecipeError(f"{before} and {path} are for the same CPU features: delete one of them")
    return tuple(schedule for _, schedule in found.values())


def write_schedule(path: Path, schedule: Schedule) -> None:
    """Writes the file whole or not at all; one without any choice is taken away."""
    kept = {name: dict(sorted(layers.items())) for name, layers in schedule.components.items() if layers}
    if not kept:
        path.unlink(missing_ok=True)
        return
    data = schedule.model_copy(update={"components": kept}).model_dump(mode="json")
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, json.dumps(data, indent=1) + "\n")
