"""Stage `assemble`: compile GPU kernels to machine code of the GPU generations in the recipe."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kokoro_tvm.builder.engine.inputs import Inputs
from kokoro_tvm.builder.engine.stage import Stage
from kokoro_tvm.builder.stages.base import Place, log, write_json
from kokoro_tvm.recipe import ArtifactSpec, Recipe
from kokoro_tvm.targets import KERNELS, MACHINE_CODE, target_kind, tools_for


def declare(place: Place, recipe: Recipe, spec: ArtifactSpec, compiled: Stage) -> Stage:
    """Declare the stage."""
    target = recipe.target_of(spec.component)
    return place.stage(
        "assemble",
        spec.id,
        doc=f"compile the kernels of {spec.component} to machine code of GPUs",
        outputs=(f"{spec.id}{MACHINE_CODE}", "resources.json"),
        inputs={"kernels": (compiled, f"{spec.id}{KERNELS}")},
        parameters={"target": target.model_dump(mode="json"), "name": spec.id},
        facts=lambda: {"compiler": tools_for(target).assembler()},
    )


def run(out: Path, inputs: Inputs, *, target: dict[str, Any], name: str) -> None:
    """Write the machine code, and the registers and shared memory of each kernel."""
    from kokoro_tvm.runtime.bundle.device_code import DeviceCode

    kind = target_kind(target["kind"])
    spec = kind.spec.model_validate(target, strict=False)
    kernels = DeviceCode.from_bytes(target["kind"], inputs["kernels"].read_bytes())
    code, resources = kind.tools(spec).assemble(kernels)
    for architecture, usage in resources.items():
        spilled = sum(entry["spilled_bytes"] > 0 for entry in usage.values())
        most = max((entry["registers"] for entry in usage.values()), default=0)
        log(f"{architecture}: {len(usage)} kernels, at most {most} registers, {spilled} spill")
    (out / f"{name}{MACHINE_CODE}").write_bytes(code.to_bytes())
    write_json(out / "resources.json", resources)
