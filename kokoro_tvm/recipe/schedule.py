"""A recipe's schedule, `schedules/<recipe>.json` beside it: what `kokoro-tvm tune` found for its layers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Annotated

from pydantic import Field

from kokoro_tvm.constants import ComponentName
from kokoro_tvm.recipe._yaml import parse, read
from kokoro_tvm.recipe.problems import check
from kokoro_tvm.spec import CpuFeature, CpuName, Name, Spec, Triple

__all__ = ["LayerChoice", "ScheduleFile", "Tuned", "read_schedule", "schedule_path", "write_schedule"]


class LayerChoice(Spec):
    """Minimal filtering of so many outputs and taps (1 and 1: plain convolution); register tiles a block."""

    outputs: int = Field(ge=1, le=12)
    taps: int = Field(ge=1, le=12)
    tiles: Annotated[int, Field(ge=1, le=1024)]


class Tuned(Spec):
    """The machine it was measured on; nothing is decided by it."""

    kind: Name
    mtriple: Triple
    mcpu: CpuName
    mattr: Annotated[tuple[CpuFeature, ...], Field(strict=False)]


class ScheduleFile(Spec):
    """components: component -> layer -> what to take in place of the rule; other layers go by the rules."""

    target: Tuned
    components: dict[ComponentName, dict[str, LayerChoice]]


def schedule_path(recipe: Path) -> Path:
    """Where the schedule of the recipe in this file is."""
    return recipe.parent / "schedules" / f"{recipe.stem}.json"


def read_schedule(path: Path) -> ScheduleFile | None:
    """The schedule in a file, None where there is none. Raises RecipeError, with the place of the fault."""
    if not path.exists():
        return None
    source = read(path)
    return check(source, parse(source), ScheduleFile)  # JSON is YAML too, and then every value has a place


def write_schedule(path: Path, target: Tuned, components: Mapping[str, Mapping[str, LayerChoice]]) -> None:
    """Writes the file whole or not at all; one without any choice is taken away."""
    kept = {name: dict(sorted(layers.items())) for name, layers in components.items() if layers}
    if not kept:
        path.unlink(missing_ok=True)
        return
    data = ScheduleFile.model_validate({"target": target, "components": kept}).model_dump(mode="json")
    path.parent.mkdir(parents=True, exist_ok=True)
    with NamedTemporaryFile("w", encoding="utf-8", dir=path.parent, prefix=".", delete=False) as file:
        try:
            file.write(json.dumps(data, indent=1) + "\n")
            file.close()
            Path(file.name).chmod(0o644)
            Path(file.name).replace(path)
        except BaseException:
            Path(file.name).unlink(missing_ok=True)
            raise
