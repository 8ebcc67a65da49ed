"""The compile stage: a lowered module becomes a shared library, linked from an object per kernel."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol

from kokoro_tvm.compiler.codegen import split, write_instructions, write_object
from kokoro_tvm.compiler.device import merged
from kokoro_tvm.engine.processes import run_forked
from kokoro_tvm.errors import BuildError
from kokoro_tvm.runtime.bundle.device_code import DeviceCode
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

    For a GPU the library launches the kernels, whose text is written beside it, with the suffix KERNELS.

    objects: where objects of kernels are looked up and kept; None: every kernel is generated. processes: how
    many kernels are generated at the same time. Neither changes the library. Raises BuildError for options
    that TVM refuses, a kernel it generates no code for, and a linker that is missing or fails.
    """
    program = split(module, machine, pass_context)
    suffix, launches = target_kind(machine.kind).object_suffix, target_kind(machine.kind).has_kernels
    suffixes = (suffix, KERNELS) if launches else (suffix,)  # of what becomes of a kernel
    prefix = toolchain.prefix(out_path)
    scripts = {name: kernel.script(show_meta=True) for name, kernel in program.kernels.items()}
    inputs = {name: _made_of(script, machine, pass_context, prefix) for name, script in scripts.items()}
    with TemporaryDirectory(dir=out_path.parent, prefix=".objects-") as folder:

        def parts(name: str) -> list[tuple[dict[str, Any], Path]]:
            """What each part of a kernel is made of, and its file."""
            return [(inputs[name] | _part(each), Path(folder, f"{name}{each}")) for each in suffixes]

        def is_kept(name: str) -> bool:
            return objects is not None and all(objects.fetch(*part) for part in parts(name))

        missing = [name for name in scripts if not is_kept(name)]
        log(f"{len(scripts)} kernels, {len(missing)} to generate")

        def write(name: str) -> None:
            paths = [path for _, path in parts(name)]
            write_object(name, program.kernels[name], machine, pass_context, prefix, *paths)

        def keep(name: str, seconds: float) -> None:
            if objects is not None:
                for part in parts(name):
                    objects.keep(*part, seconds)

        missing.sort(key=lambda name: -len(scripts[name]))  # the longest first: none is waited for at the end
        run_forked(write, missing, processes, keep)
        instructions = Path(folder, f"instructions{suffix}")
        write_instructions(program.executable, machine, instructions, prefix)
        if launches:
            texts = [Path(folder, f"{name}{KERNELS}").read_bytes() for name in scripts]
            codes = [DeviceCode.from_bytes(machine.kind, text) for text in texts if text]
            if not codes:
                raise BuildError(f"{out_path.stem} has no kernel for a GPU")
            kernels = Path(folder, "kernels")
            kernels.write_bytes(merged(codes).to_bytes())
        toolchain.link([*(Path(folder, f"{name}{suffix}") for name in scripts), instructions], out_path)
        if launches:
            kernels.replace(out_path.with_suffix(KERNELS))
    return out_path


def _part(suffix: str) -> dict[str, Any]:
    """What tells the text of a kernel for a GPU from the code that launches it."""
    return {"part": suffix} if suffix == KERNELS else {}


def _made_of(script: str, machine: Machine, pass_context: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    """What a kernel's object is made of, besides the code and tools that generate it; script: the kernel as
    TVMScript; prefix: see `generate`."""
    return ({"prefix": prefix} if prefix else {}) | {
        "kernel": hashlib.sha256(script.encode()).hexdigest(),
        "target": str(tvm_target(machine)),
        "pass_context": dict(pass_context),
    }
