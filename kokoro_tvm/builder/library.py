"""Compilation of a lowered module to a shared library, linked from one object per kernel."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol

from kokoro_tvm.builder.engine.processes import run_forked
from kokoro_tvm.common.errors import BuildError
from kokoro_tvm.compiler.codegen import split_module, write_instructions, write_object
from kokoro_tvm.native.toolchains import Toolchain
from kokoro_tvm.runtime.bundle.device_code import DeviceCode
from kokoro_tvm.targets import KERNELS, Machine, target_kind, tvm_target

_OBJECT = ".o"
_KERNEL = b'extern "C" __global__'  # of CUDA


class Objects(Protocol):
    """Store of object files, each keyed by its inputs."""

    def fetch(self, inputs: Mapping[str, Any], path: Path) -> bool:
        """Write the object with these `inputs` to `path`; return False if none is stored or it is damaged."""

    def keep(self, inputs: Mapping[str, Any], path: Path, seconds: float) -> None:
        """Store the object in `path`, which took `seconds` to generate."""


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
    """Generate code for a machine and link it into the shared library `out_path`, completely or not at all.

    The library for a GPU launches the kernels; their text is written beside it, with the suffix KERNELS.

    Args:
        module: The lowered module.
        machine: Machine to generate for.
        toolchain: Links the objects.
        out_path: The library.
        pass_context: See `codegen.make_pass_context`.
        objects: Store of objects, or None to generate every kernel. The library does not depend on it.
        processes: How many kernels are generated at a time. The library does not depend on it.
        log: Called with each line of progress.

    Returns:
        `out_path`.

    Raises:
        BuildError: TVM refuses options or generates no code for a kernel, or the linker is missing or fails.
    """
    program = split_module(module, machine, pass_context)
    launches = target_kind(machine.kind).has_kernels
    suffixes = (_OBJECT, KERNELS) if launches else (_OBJECT,)  # of the parts of a kernel
    prefix = toolchain.prefix(out_path)
    scripts = {name: kernel.script(show_meta=True) for name, kernel in program.kernels.items()}
    inputs = {name: _object_inputs(script, machine, pass_context, prefix) for name, script in scripts.items()}
    with TemporaryDirectory(dir=out_path.parent, prefix=".objects-") as folder:

        def parts(name: str) -> list[tuple[dict[str, Any], Path]]:
            """Return the inputs and the file of each part of a kernel."""
            inputs_of_part = {_OBJECT: inputs[name], KERNELS: inputs[name] | {"part": KERNELS}}
            return [(inputs_of_part[suffix], Path(folder, f"{name}{suffix}")) for suffix in suffixes]

        def fetch(name: str) -> bool:
            """Write the stored objects of a kernel; return False if one is missing."""
            return objects is not None and all(objects.fetch(*part) for part in parts(name))

        missing = [name for name in scripts if not fetch(name)]
        log(f"{len(scripts)} kernels, {len(missing)} to generate")

        def write(name: str) -> None:
            """Generate the objects of a kernel."""
            paths = [path for _, path in parts(name)]
            write_object(name, program.kernels[name], machine, pass_context, prefix, *paths)

        def keep(name: str, seconds: float) -> None:
            """Store the objects of a kernel."""
            if objects is not None:
                for part in parts(name):
                    objects.keep(*part, seconds)

        missing.sort(key=lambda name: -len(scripts[name]))  # the longest first, to end with short ones
        run_forked(write, missing, processes, keep)
        instructions = Path(folder, f"instructions{_OBJECT}")
        write_instructions(program.executable, machine, instructions, prefix)
        if launches:
            texts = [Path(folder, f"{name}{KERNELS}").read_bytes() for name in scripts]
            codes = [DeviceCode.from_bytes(machine.kind, text) for text in texts if text]
            if not codes:
                raise BuildError(f"{out_path.stem} has no kernel for a GPU")
            kernels = Path(folder, "kernels")
            kernels.write_bytes(_merge(codes).to_bytes())
        toolchain.link([*(Path(folder, f"{name}{_OBJECT}") for name in scripts), instructions], out_path)
        if launches:
            kernels.replace(out_path.with_suffix(KERNELS))
    return out_path


def _object_inputs(
    script: str, machine: Machine, pass_context: Mapping[str, Any], prefix: str
) -> dict[str, Any]:
    """Return the inputs that key a kernel's object, besides the code and tools that generate it.

    Args:
        script: The kernel as TVMScript.
        machine: Machine to generate for.
        pass_context: See `codegen.make_pass_context`.
        prefix: See `codegen.generate_kernel`.
    """
    return ({"prefix": prefix} if prefix else {}) | {
        "kernel": hashlib.sha256(script.encode()).hexdigest(),
        "target": str(tvm_target(machine)),
        "pass_context": dict(pass_context),
    }


def _merge(parts: Sequence[DeviceCode]) -> DeviceCode:
    """Merge the kernels of several modules; CUDA's preamble stays once.

    Raises:
        BuildError: No preamble contains all others (it is longer if kernels use float16).
    """
    first = parts[0]
    functions = {name: function for part in parts for name, function in part.functions.items()}
    if first.kind != "cuda":
        code = {name: text for part in parts for name, text in part.code.items()}
        return DeviceCode(first.kind, first.form, functions, code)
    texts = [part.code[""] for part in parts]
    starts = [text.index(_KERNEL) for text in texts]  # of the kernels, after the preamble
    heads = [text[:start] for text, start in zip(texts, starts, strict=True)]
    bodies = [text[start:] for text, start in zip(texts, starts, strict=True)]
    head = max(heads, key=len)
    if any(set(other.splitlines()) - set(head.splitlines()) for other in heads):
        raise BuildError("kernels for CUDA have different preambles, so they cannot be compiled as one")
    return DeviceCode(first.kind, first.form, functions, {"": b"".join([head, *bodies])})
