"""Code generation: a lowered module's kernels, each by itself, and the instructions that call them.

No kernel calls another, so nothing is lost by generating them apart. More than that: in a module of several
functions, TVM's LLVM code generator takes the last one's attribute `tirx.noalias` for that of all.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tvm
from tvm import relax, tirx
from tvm.relax import vm_build
from tvm.runtime import _ffi_api as runtime_api

from kokoro_tvm.errors import BuildError
from kokoro_tvm.runtime.bundle.device_code import DeviceCode
from kokoro_tvm.targets import Machine, tvm_target

__all__ = [
    "SplitModule",
    "extract_device_code",
    "generate_kernel",
    "lower_to_vm",
    "make_pass_context",
    "split_module",
    "write_instructions",
    "write_object",
]

_ENTRY = "tirx.AnnotateEntryFunc"
# It makes the only function of a module its `main`, and every kernel is the only one of its module.
_OWN = b"_lib"  # how TVM marks the module itself among those that it packs


@dataclass(frozen=True)
class SplitModule:
    """A lowered module taken apart. executable: instructions of TVM's virtual machine, which call kernels by
    name; kernels: name -> TIR function, by name."""

    executable: Any
    kernels: Mapping[str, Any]


def make_pass_context(pass_context: Mapping[str, Any]) -> Any:
    """TVM's PassContext for a recipe's `pass_context`: opt_level, disabled_passes and config.

    Raises BuildError for an option that TVM does not know, or a value of another type than it wants.
    """
    try:
        return tvm.transform.PassContext(
            opt_level=pass_context["opt_level"],
            disabled_pass=[*pass_context["disabled_passes"], _ENTRY],
            config=dict(pass_context["config"]),
        )
    except (AttributeError, ValueError, TypeError) as error:
        raise BuildError(f"pass_context: TVM refuses the config: {error}") from error


def split_module(module: Any, machine: Machine, pass_context: Mapping[str, Any]) -> SplitModule:
    """Takes a lowered module apart. Raises BuildError for options that TVM refuses."""
    target: Any = tvm_target(machine)
    builder = relax.ExecBuilder()
    with make_pass_context(pass_context), target:
        kernels = vm_build._vmcodegen(builder, lower_to_vm()(module))
        # Stands for the library that the instructions will be linked into, where they look kernels up.
        library = tvm.tirx.build(tvm.IRModule({}), target)
        executable = vm_build._ffi_api.VMLink(builder, target, library, [], {})
    named = {variable.name_hint: kernel for variable, kernel in kernels.functions.items()}
    return SplitModule(executable, dict(sorted(named.items())))


def generate_kernel(
    name: str, kernel: Any, machine: Machine, pass_context: Mapping[str, Any], prefix: str = ""
) -> Any:
    """A kernel's code for `machine`, in memory: TVM's module of one function. Raises as `split_module` does.

    prefix: of a system library, whose symbols begin with it, and whose objects make themselves known to TVM's
    runtime when the program starts that they are linked into; empty for a library that is loaded.
    """
    module = tvm.IRModule({name: kernel})
    if prefix:  # instructions name kernels without it, which is how a system library finds them, too
        symbol = kernel.with_attr("global_symbol", f"{prefix}{name}")
        module = tvm.IRModule({name: symbol}).with_attr("system_lib_prefix", prefix)
    with make_pass_context(pass_context):
        return tvm.tirx.build(module, tvm_target(machine))


def write_object(
    name: str,
    kernel: Any,
    machine: Machine,
    pass_context: Mapping[str, Any],
    prefix: str,
    path: Path,
    device: Path | None = None,
) -> None:
    """Writes a kernel's object; device: where the text goes that a GPU executes, empty where it is for the
    host alone. Raises as `split_module` does.

    Objects are kept by the code of this function, with all that it may call.
    """
    generated = generate_kernel(name, kernel, machine, pass_context, prefix)
    generated.write_to_file(str(path))
    if device is not None:
        code = extract_device_code(generated)
        device.write_bytes(code.to_bytes() if code is not None else b"")


def extract_device_code(module: Any) -> DeviceCode | None:
    """The kernels that a host's module imports, as TVM would pack them with it; None where it imports none.

    Raises BuildError where they are of several kinds of GPU.
    """
    if not module.imports:
        return None
    if len(module.imports) > 1:
        raise BuildError(f"{len(module.imports)} modules for GPUs were generated, not one")
    packed = runtime_api.ModulePackImportsToTensor(module).numpy().tobytes()
    at = packed.find(_OWN)
    kind, at = _block(packed, at + len(_OWN))
    content, _ = _block(packed, at)
    return DeviceCode.from_bytes(kind.decode(), content)


def _block(data: bytes, at: int) -> tuple[bytes, int]:
    """A block of bytes that follows its size, and where it ends."""
    (size,) = struct.unpack_from("<Q", data, at)
    return data[at + 8 : at + 8 + size], at + 8 + size


def write_instructions(executable: Any, machine: Machine, path: Path, prefix: str = "") -> None:
    """Writes the instructions of the virtual machine, which are data, as an object. prefix: see
    `generate_kernel`."""
    target: Any = tvm_target(machine)
    packed = runtime_api.ModulePackImportsToLLVM(executable, bool(prefix), str(target.host or target), prefix)
    packed.write_to_file(str(path))


def lower_to_vm() -> Any:
    """What is left of Relax becomes instructions of the virtual machine; TVM cannot write modules down past
    this."""
    return tvm.transform.Sequential(
        [
            relax.transform.LowerRuntimeBuiltin(),
            relax.transform.ComputePrimValue(),
            _lower_shapes,
            relax.transform.AttachGlobalSymbol(),
        ]
    )


@tvm.transform.module_pass(opt_level=0, name="LowerShapes")
def _lower_shapes(module: Any, context: Any) -> Any:
    """TVM's VMShapeLower, with the lengths it has computed stored in the order of their slots.

    It stores them in the order of a hash table of addresses, so that the same module would not always give
    the same library. Every length is computed from the inputs' own, which are stored before, so any order is
    right.
    """
    lowered = relax.transform.VMShapeLower()(module)
    for name, function in lowered.functions.items():
        if name not in module.functions and isinstance(function.body, tirx.SeqStmt):
            stores = sorted(function.body, key=lambda store: int(store.indices[0]))
            lowered.update_func(name, function.with_body(tirx.SeqStmt(stores)))
    return lowered
