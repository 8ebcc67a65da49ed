"""Stage `export`: trace a patched component to a graph of semantic operations, without weights."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from kokoro_tvm.builder.engine.inputs import Inputs
from kokoro_tvm.builder.engine.stage import Stage
from kokoro_tvm.builder.engine.versions import TORCH, versions
from kokoro_tvm.builder.stages.base import COMPILER, Place, read_json
from kokoro_tvm.recipe import ArtifactSpec, Recipe


def declare(place: Place, recipe: Recipe, spec: ArtifactSpec, checkpoint: Stage) -> Stage:
    """Declare the stage."""
    patches = list(recipe.components[spec.component].patches)
    return place.stage(
        "export",
        spec.id,
        doc=f"export {spec.component} up to {spec.bucket} {spec.axis} ({spec.length}) from PyTorch",
        outputs=("program.pt2",),
        inputs={"config": (checkpoint, "config.json")},
        parameters={
            "component": spec.component,
            "length": spec.length,
            "bucket": spec.bucket,
            "patches": patches,
        },
        facts=lambda: {"versions": versions(*TORCH)},
        preload=COMPILER,
    )


def run(
    out: Path, inputs: Inputs, *, component: str, length: str, bucket: int, patches: Sequence[str]
) -> None:
    """Write the program."""
    from kokoro_tvm.compiler.export import export_component, save_program

    program = export_component(component, read_json(inputs["config"]), length, bucket, patches)
    save_program(program, out / "program.pt2")
