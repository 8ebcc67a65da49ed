"""Stage `compile`: generate an object for each kernel of a module, and link them to a library.

All artifacts and recipes share the objects through the store, so that a kernel is compiled only once.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kokoro_tvm.builder.engine.cache import Cache
from kokoro_tvm.builder.engine.inputs import Inputs
from kokoro_tvm.builder.engine.parts import PARTS, Parts, parts_store
from kokoro_tvm.builder.engine.resources import Needs
from kokoro_tvm.builder.engine.stage import Stage
from kokoro_tvm.builder.engine.store import Store
from kokoro_tvm.builder.engine.trace import pause_recording
from kokoro_tvm.builder.engine.used import hash_code
from kokoro_tvm.builder.engine.versions import tvm_versions
from kokoro_tvm.builder.stages.base import COMPILER, Place, log, read_json, threads
from kokoro_tvm.builder.stages.lower import lower_program, lowering_parameters, lowering_settings
from kokoro_tvm.common.errors import BuildError
from kokoro_tvm.recipe import ArtifactSpec, Recipe
from kokoro_tvm.recipe.parts import Resources
from kokoro_tvm.targets import KERNELS, target_kind, tools_for

_LOWERED_GB = 0.7  # memory of the process that has lowered the decoder
_KERNEL_GB = 0.1  # additional memory of each forked process that generates a kernel


def declare(place: Place, recipe: Recipe, spec: ArtifactSpec, lower: Stage) -> Stage:
    """Declare the stage."""
    target = recipe.target_of(spec.component)
    toolchain = tools_for(target).toolchain()
    library = f"{spec.id}{toolchain.suffix}"
    cpus = recipe.resources.cpus
    return place.stage(
        "compile",
        spec.id,
        doc=f"generate machine code for {spec.component} and link it",
        outputs=(library, PARTS, *([f"{spec.id}{KERNELS}"] if target_kind(target.kind).has_kernels else [])),
        inputs={"module": (lower, "module.py"), **lower.inputs},
        parameters={"pass_context": recipe.pass_context.model_dump(mode="json"), "library": library},
        settings=lambda: {
            "target": target.model_dump(mode="json"),
            "lowering": lowering_parameters(recipe, spec)
            | lowering_settings(recipe, spec, lower.inputs["machine"][0]),
            "generator": _generator() | {"versions": tvm_versions()},
            "processes": processes(recipe.resources, threads()),
        },
        facts=lambda: {"linker": toolchain.identity(), "versions": tvm_versions()},
        cache=parts_store(place.store).root,
        needs=Needs(recipe.resources.memory_gb, cpus or math.inf),
        preload=COMPILER,
    )


def run(
    out: Path,
    inputs: Inputs,
    *,
    target: dict[str, Any],
    pass_context: Mapping[str, Any],
    library: str,
    lowering: Mapping[str, Any],
    generator: Mapping[str, Any],
    processes: int,
    cache: Path,
    again: bool = False,
) -> None:
    """Generate code and link it.

    Args:
        out: Folder of the outputs.
        inputs: The module, and the inputs of `lower`.
        target: Target of the recipe.
        pass_context: Options of TVM's PassContext.
        library: Name of the library.
        lowering: Arguments of `lower_program`.
        generator: Digests of what an object depends on besides its kernel.
        processes: Number of kernels that are generated at the same time.
        cache: Folder of the objects.
        again: Generate kernels even if there are objects of them.

    Raises:
        BuildError: The generator was edited, a pass is not deterministic, or a tool fails.
    """
    from kokoro_tvm.builder.library import compile_module
    from kokoro_tvm.targets import Machine

    if any(generator[part] != digest for part, digest in _generator().items()):
        raise BuildError("the code generator was edited while the build started, run doit again")
    # Lowering again takes a tenth of the time that TVM takes to parse the module's script.
    with pause_recording():
        module = lower_program(inputs, **lowering).module
    if module.script(show_meta=True) != inputs["module"].read_text(encoding="utf-8"):
        raise BuildError(
            f"lowering once more gave another module than {inputs['module']}: a pass is not deterministic"
        )
    kind = target_kind(target["kind"])
    toolchain = kind.tools(kind.spec.model_validate(target, strict=False)).toolchain()
    machine = Machine.from_json(read_json(inputs["machine"]))
    objects = Parts(Store(cache, cache=Cache.from_environment(log)), generator, again)
    compile_module(module, machine, toolchain, out / library, pass_context, objects, processes, log)
    (out / PARTS).write_text(json.dumps(sorted(objects.keys), indent=1), encoding="utf-8")


def processes(resources: Resources, cores: int) -> int:
    """Return the number of kernels that are generated at the same time."""
    fitting = round((resources.memory_gb - _LOWERED_GB) / _KERNEL_GB)
    return max(1, min(resources.cpus or cores, cores, fitting))


def _generator() -> dict[str, Any]:
    """Return the digests of the code that compiles a kernel to an object."""
    return hash_code(["kokoro_tvm.compiler.codegen:write_object"])
