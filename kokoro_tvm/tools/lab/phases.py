"""A component of a recipe as it is after every pass; nothing is fetched and nothing is kept."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from kokoro_tvm import model
from kokoro_tvm.compiler.export import export_component
from kokoro_tvm.compiler.lower import lower
from kokoro_tvm.model.synthetic import shrink_config
from kokoro_tvm.recipe import Recipe, SyntheticSource
from kokoro_tvm.targets import Machine

__all__ = ["phases_of"]


def phases_of(recipe: Recipe, component: str, machine: Machine) -> dict[str, Any]:
    """Pass -> the module after it, in order, for the largest bucket and without a schedule. Raises BuildError
    as exporting and lowering do."""
    spec = next(s for s in reversed(recipe.artifacts()) if s.component == component)
    patches = recipe.components[component].patches
    phases: dict[str, Any] = {}
    lower(
        export_component(component, _config(recipe), spec.length, spec.bucket, patches),
        component=component,
        machine=machine,
        passes=recipe.passes,
        pass_context=recipe.pass_context.model_dump(),
        manifest={},
        dump=phases.__setitem__,
    )
    return phases


def _config(recipe: Recipe) -> dict[str, Any]:
    shipped = Path(model.__file__).with_name(recipe.checkpoint.config.file)
    config: dict[str, Any] = json.loads(shipped.read_text(encoding="utf-8"))
    first = recipe.checkpoint.sources[0]
    return shrink_config(config) if isinstance(first, SyntheticSource) and first.size == "toy" else config
