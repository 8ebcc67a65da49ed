"""The compile stage: a lowered module becomes a shared library, linked from an object per kernel."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol

from kokoro_tvm.compiler.codegen import Program, generate, split, write_instructions
from kokoro_tvm.compiler.device import device_code, merged
from kokoro_tvm.engine.processes import run_forked
from kokoro_tvm.errors import BuildError
from kokoro_tvm.targets import KERNELS, Machine, target_kind, tvm_target
from kokoro_tvm.toolchains import Toolchain

__all__ = ["Objects", "compile_module"]


class Objects(Protocol):
    """Keeps objects, each under what it is made of."""

    def fetch(self, inputs: Mapping[str, Any], path: Path) -> bool:
        """Writes the object made of `inputs` to `path`; False if there is none, or a damaged one."""

    def keep(self, inputs: Mapping[str, Any], path: Path, seconds: float) -> None:
        """Keeps the object in `path`, which took so many seconds to make."""


def compile_module(
    module: Any,
    machine: Machine,
    toolchain: Toolchain,
    out_path: Path,
    pass_context: Mapping[str, Any],
    objects: Objects | None = None,
    processes: int = 1,
    log: Callable[[str], None] = lambda line: None,
) -> Path:
    """Generates code for `machine` and links it into the shared library `out_path`, whole or not at all.

    objects: where objects of kernels are looked up and kept; None: every kernel is generated. processes: how
    many kernels are generated at the same time. Neither changes the library. Raises BuildError for options
    that TVM refuses, a kernel it generates no code for, and a linker that is missing or fails.
    """
    program, suffix = split(module, machine, pass_context), target_kind(machine.kind).object_suffix
    if target_kind(machine.kind).has_kernels:
        return _compile_for_gpu(program, machine, toolchain, out_path, pass_context, log)
    scripts = {name: kernel.script(show_meta=True) for name, kernel in program.kernels.items()}
    inputs = {name: _made_of(script, machine, pass_context) for name, script in scripts.items()}
    with TemporaryDirectory(dir=out_path.parent, prefix=".objects-") as folder:
        paths = {name: Path(folder, f"{name}{suffix}") for name in scripts}
        missing = [n for n in paths if objects is None or not objects.fetch(inputs[n], paths[n])]
        log(f"{len(paths)} kernels, {len(missing)} to generate")

        def write(name: str) -> None:
            generate(name, program.kernels[name], machine, pass_context).write_to_file(str(paths[name]))

        def keep(name: str, seconds: float) -> None:
            if objects is not None:
                objects.keep(inputs[name], paths[name], seconds)

        missing.sort(key=lambda name: -len(scripts[name]))  # the longest first: none is waited for at the end
        run_forked(write, missing, processes, keep)
        instructions = Path(folder, f"instructions{suffix}")
        write_instructions(program.executable, machine, instructions)
        toolchain.link([*paths.values(), instructions], out_path)
    return out_path


def _compile_for_gpu(
    program: Program,
    machine: Machine,
    toolchain: Toolchain,
    out_path: Path,
    pass_context: Mapping[str, Any],
    log: Callable[[str], None],
) -> Path:
    """The same for a GPU: `out_path` launches the kernels, which are written beside it."""
    log(f"{len(program.kernels)} kernels to generate")
    codes = []
    with TemporaryDirectory(dir=out_path.parent, prefix=".objects-") as folder:
        objects = []
        for name, kernel in program.kernels.items():
            generated = generate(name, kernel, machine, pass_context)
            objects.append(Path(folder, f"{name}.o"))
            generated.write_to_file(str(objects[-1]))
            if (code := device_code(generated)) is not None:
                codes.append(code)
        if not codes:
            raise BuildError(f"{out_path.stem} has no kernel for a GPU")
        instructions = Path(folder, "instructions.o")
        write_instructions(program.executable, machine, instructions)
        kernels = Path(folder, "kernels")
        kernels.write_bytes(merged(codes).to_bytes())
        toolchain.link([*objects, instructions], out_path)
        kernels.replace(out_path.with_suffix(KERNELS))
    return out_path


def _made_of(script: str, machine: Machine, pass_context: Mapping[str, Any]) -> dict[str, Any]:
    """What a kernel's object is made of, besides the code and tools that generate it; script: the kernel as
    TVMScript."""
    return {
        "kernel": hashlib.sha256(script.encode()).hexdigest(),
        "target": str(tvm_target(machine)),
        "pass_context": dict(pass_context),
    }
