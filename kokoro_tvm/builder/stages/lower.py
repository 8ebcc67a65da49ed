"""Stage `lower`: lower a program to a module of kernels, ready for code generation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kokoro_tvm import __version__
from kokoro_tvm.builder.engine.inputs import Inputs
from kokoro_tvm.builder.engine.stage import Stage
from kokoro_tvm.builder.engine.versions import tvm_versions, versions
from kokoro_tvm.builder.stages.base import COMPILER, Place, log, read_json, write, write_json
from kokoro_tvm.common.constants import COMPONENT_AXES, STORAGE_STEPS
from kokoro_tvm.recipe import ArtifactSpec, LayerChoice, Recipe, choose_layers

if TYPE_CHECKING:
    from kokoro_tvm.compiler.lower import LoweredModule


def declare(place: Place, recipe: Recipe, spec: ArtifactSpec, export: Stage, machine: Stage) -> Stage:
    """Declare the stage."""

    def facts() -> dict[str, Any]:
        """Return the facts of the stage: versions, and the schedule if there is one."""
        schedule = {layer: str(choice) for layer, choice in _schedule(recipe, spec, machine).items()}
        return {
            "project": __version__,
            "versions": tvm_versions() | versions("torch", "numpy"),
            **({"schedule": schedule} if schedule else {}),
        }

    return place.stage(
        "lower",
        spec.id,
        doc=f"lower {spec.component} to kernels",
        outputs=("module.py", "parameters.json"),
        inputs={"program": (export, "program.pt2"), "machine": (machine, "machine.json")},
        parameters=lowering_parameters(recipe, spec),
        settings=lambda: lowering_settings(recipe, spec, machine),
        facts=facts,
        preload=COMPILER,
    )


def lowering_parameters(recipe: Recipe, spec: ArtifactSpec) -> dict[str, Any]:
    """Return the part of a recipe that decides how a program is lowered, for any machine."""
    return {
        "component": spec.component,
        "bucket": spec.bucket,
        "length": spec.length,
        "precision": recipe.precision,
        "passes": list(recipe.passes),
        "pass_context": recipe.pass_context.model_dump(mode="json"),
    }


def lowering_settings(recipe: Recipe, spec: ArtifactSpec, machine: Stage) -> dict[str, Any]:
    """Return what the resolved machine and the installed tools decide about the lowering."""
    schedule = {layer: choice.model_dump() for layer, choice in _schedule(recipe, spec, machine).items()}
    return {"versions": tvm_versions() | versions("torch"), "schedule": schedule}


def _schedule(recipe: Recipe, spec: ArtifactSpec, machine: Stage) -> Mapping[str, LayerChoice]:
    """Return the choices of the component's layers for the features of the resolved target."""
    return choose_layers(recipe.schedules, machine.read_json("machine.json")["required"], spec.component)


def run(
    out: Path, inputs: Inputs, *, schedule: Mapping[str, Any], dump_ir: str | None = None, **recipe: Any
) -> None:
    """Write the module as TVMScript, and its parameters.

    Args:
        out: Folder of the outputs.
        inputs: Program and machine.
        schedule: Layer -> choice that replaces the rule's.
        dump_ir: Folder to write the module to after every pass.
        recipe: The other values of `lowering_parameters` and `lowering_settings`.
    """
    count = 0

    def dump(name: str, module: Any) -> None:
        """Log a pass, and write the module after it if `dump_ir` is set."""
        nonlocal count
        if dump_ir is not None:
            write(Path(dump_ir, f"{count:02d}-{name}.py"), module.script(show_meta=True))
            count += 1
        log(f"{name}: {len(module.functions)} functions")

    result = lower_program(inputs, schedule=schedule, dump=dump, **recipe)
    if schedule:
        chosen = sum(p.packing is not None and p.packing.call.choice is not None for p in result.parameters)
        log(f"schedule: {len(schedule)} layers, {chosen} weights are packed for them")
    write(out / "module.py", result.module.script(show_meta=True))
    write_json(out / "parameters.json", [p.to_json() for p in result.parameters])


def lower_program(
    inputs: Inputs,
    *,
    component: str,
    bucket: int,
    length: str,
    precision: str,
    passes: Sequence[str],
    pass_context: Mapping[str, Any],
    schedule: Mapping[str, Any],
    versions: Mapping[str, str],
    dump: Callable[[str, Any], None] = lambda name, module: None,
) -> LoweredModule:
    """Lower the program of the inputs for the machine of the inputs.

    Args:
        inputs: Program and machine.
        component: Name of the component.
        bucket: Largest length.
        length: Length policy.
        precision: Compute dtype.
        passes: Names of compiler passes.
        pass_context: Options of TVM's PassContext.
        schedule: Layer -> choice that replaces the rule's.
        versions: Versions of tools, for the module's manifest.
        dump: Called with a name and the module, after the import and every pass.
    """
    from kokoro_tvm.builder.engine.digest import digest
    from kokoro_tvm.compiler.export import load_program
    from kokoro_tvm.compiler.lower import lower
    from kokoro_tvm.targets import Machine

    machine = Machine.from_json(read_json(inputs["machine"]))
    manifest = {
        "component": component,
        "bucket": bucket,
        "length": length,
        "precision": precision,
        "project": f"kokoro-tvm {__version__}",
        "toolchain": {name: version for name, version in versions.items() if name != "python"},
        "target": machine.target,
        "cpu_features": list(machine.required),
        "program": inputs.sha256("program"),
        "schedule": digest(schedule) if schedule else None,
    }
    return lower(
        load_program(inputs["program"]),
        component=component,
        machine=machine,
        passes=passes,
        pass_context=pass_context,
        manifest=manifest,
        schedule=schedule,
        storage_step=1 if machine.features.eager_memory else STORAGE_STEPS[COMPONENT_AXES[component]],
        dump=dump,
    )
