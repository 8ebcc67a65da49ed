"""A component with its patches in force as a program: a graph of semantic operations, without weights."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from kokoro_tvm.engine.inputs import Inputs
from kokoro_tvm.engine.sources import function_sources
from kokoro_tvm.engine.stage import Stage
from kokoro_tvm.engine.versions import TORCH, versions
from kokoro_tvm.recipe import ArtifactSpec, Recipe
from kokoro_tvm.stages.base import COMPILER, OPS, Place
from kokoro_tvm.stages.files import read_json, write_json

__all__ = ["declare", "run"]


def declare(place: Place, recipe: Recipe, spec: ArtifactSpec, checkpoint: Stage) -> Stage:
    patches = list(recipe.components[spec.component].patches)
    modules = [f"kokoro_tvm.patches.{patch}" for patch in patches]
    return place.stage(
        "export",
        spec.id,
        doc=f"export {spec.component} up to {spec.bucket} {spec.axis} ({spec.length}) from PyTorch",
        outputs=("program.pt2", "operations.json"),
        inputs={"config": (checkpoint, "config.json")},
        parameters={
            "component": spec.component,
            "length": spec.length,
            "bucket": spec.bucket,
            "patches": patches,
        },
        sources=lambda: function_sources("kokoro_tvm.stages.export:run", modules, apart=[OPS]),
        facts=lambda: {"versions": versions(*TORCH)},
        preload=COMPILER,
    )


def run(
    out: Path, inputs: Inputs, *, component: str, length: str, bucket: int, patches: Sequence[str]
) -> None:
    """Writes the program, and the semantic operations it uses by name."""
    from kokoro_tvm.compiler.export import export_component, operations, save_program

    program = export_component(component, read_json(inputs["config"]), length, bucket, patches)
    save_program(program, out / "program.pt2")
    used = {name.split(".")[1] for name in operations(program) if name.startswith("kokoro.")}
    write_json(out / "operations.json", sorted(used))
