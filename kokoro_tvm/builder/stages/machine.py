"""Stage `machine`: resolve a recipe's target to everything that code generation needs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kokoro_tvm.builder.engine.inputs import Inputs
from kokoro_tvm.builder.engine.stage import Stage
from kokoro_tvm.builder.engine.versions import tvm_versions
from kokoro_tvm.builder.stages.base import Place, write_json
from kokoro_tvm.common.spec import TargetSpec
from kokoro_tvm.recipe import Recipe
from kokoro_tvm.targets import target_kind


def declare(place: Place, recipe: Recipe, spec: TargetSpec, artifact: str = "") -> Stage:
    """Declare the stage. `spec`: the recipe's target, or its host, which is then the artifact."""
    kind = target_kind(spec.kind)
    return place.stage(
        "machine",
        artifact,
        doc=f"resolve the target {kind.describe(spec)}",
        outputs=("machine.json",),
        parameters={"target": spec.model_dump(mode="json"), "precision": recipe.precision_of(spec)},
        facts=lambda: {**kind.facts(spec), "versions": tvm_versions()},
    )


def run(out: Path, inputs: Inputs, *, target: dict[str, Any], precision: str) -> None:
    """Write the resolved machine."""
    from kokoro_tvm.runtime.session.tvm_runtime import without_torch

    with without_torch():  # torch takes seconds to import, and TVM alone knows the names of CPUs
        import tvm  # noqa: F401
    kind = target_kind(target["kind"])
    machine = kind.resolve(kind.spec.model_validate(target, strict=False), precision)
    write_json(out / "machine.json", machine.to_json())
