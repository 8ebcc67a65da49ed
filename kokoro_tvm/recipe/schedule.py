"""Schedules, `schedules/*.json` beside the recipes: choices for single layers in place of the rules.

A schedule applies to every recipe whose code is generated for its set of CPU features.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

from pydantic import Field

from kokoro_tvm.common.constants import ComponentName
from kokoro_tvm.common.errors import RecipeError
from kokoro_tvm.common.spec import Spec
from kokoro_tvm.recipe.validate import read_document


class LayerChoice(Spec):
    """How a layer is computed.

    Attributes:
        outputs: Outputs of the minimal filtering; 1 with 1 tap is a plain convolution.
        taps: Taps of the minimal filtering.
        tiles: Register tiles per block.
    """

    outputs: int = Field(ge=1, le=12)
    taps: int = Field(ge=1, le=12)
    tiles: Annotated[int, Field(ge=1, le=1024)]

    def __str__(self) -> str:
        return f"F({self.outputs}, {self.taps}), tiles: {self.tiles}"


class Schedule(Spec):
    """Choices in place of the rules, for CPUs with one set of features.

    Attributes:
        features: All CPU features that the code may use, as in `Machine.required`.
        measured_on: Name of the CPU that was measured, for people.
        components: Choices by component and layer; other layers follow the rules.
    """

    features: Annotated[tuple[str, ...], Field(min_length=1, strict=False)]
    measured_on: str
    components: dict[ComponentName, dict[str, LayerChoice]]


def choose_layers(
    schedules: Sequence[Schedule], features: Sequence[str], component: str
) -> Mapping[str, LayerChoice]:
    """Return the choices by layer of a component on a machine with these features, or {}."""
    for schedule in schedules:
        if set(schedule.features) == set(features):
            return {str(name): layers for name, layers in schedule.components.items()}.get(component, {})
    return {}


def read_schedules(recipes: Path) -> tuple[Schedule, ...]:
    """Read all schedules of a folder of recipes.

    Raises:
        RecipeError: A schedule is faulty, or two are for the same features.
    """
    schedules: dict[frozenset[str], tuple[Path, Schedule]] = {}
    for path in sorted((recipes / "schedules").glob("*.json")):
        schedule = read_document(path, Schedule)  # JSON is YAML too, and then every value has a place
        other, _ = schedules.setdefault(frozenset(schedule.features), (path, schedule))
        if other != path:
            raise RecipeError(f"{other} and {path} are for the same CPU features: delete one of them")
    return tuple(schedule for _, schedule in schedules.values())
