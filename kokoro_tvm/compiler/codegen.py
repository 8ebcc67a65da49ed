"""Code generation: each kernel of a lowered module on its own, and the VM instructions that call them.

No kernel calls another, so nothing is lost. In a module of several functions, TVM's LLVM code generator
applies the last function's attribute `tirx.noalias` to all of them.
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

from kokoro_tvm.common.errors import BuildError
from kokoro_tvm.runtime.bundle.device_code import DeviceCode
from kokoro_tvm.targets import Machine, tvm_target

# This pass makes the only function of a module its `main`, and every kernel is alone in its module.
_ENTRY = "tirx.AnnotateEntryFunc"
_SELF = b"_lib"  # TVM's mark of the module itself among those that it packs


@dataclass(frozen=True)
class SplitModule:
    """A lowered module, split into VM executable and kernels.

    Attributes:
        executable: Instructions of TVM's virtual machine, which call kernels by name.
        kernels: Name to TIR function, sorted by name.
    """

    executable: Any
    kernels: Mapping[str, Any]


def make_pass_context(pass_context: Mapping[str, Any]) -> Any:
    """Create TVM's PassContext from a recipe's `pass_context`, always without `tirx.AnnotateEntryFunc`.

    Args:
        pass_context: opt_level, disabled_passes and config.

    Raises:
        BuildError: TVM does not know an option, or its value has another type.
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
    """Split a lowered module into VM executable and kernels.

    Raises:
        BuildError: TVM refuses the options of `pass_context`.
    """
    target: Any = tvm_target(machine)
    builder = relax.ExecBuilder()
    with make_pass_context(pass_context), target:
        kernels = vm_build._vmcodegen(builder, lower_to_vm()(module))
        # An empty stand-in for the library that the instructions are linked into, where they look kernels up.
        library = tvm.tirx.build(tvm.IRModule({}), target)
        executable = vm_build._ffi_api.VMLink(builder, target, library, [], {})
    named = {variable.name_hint: kernel for variable, kernel in kernels.functions.items()}
    return SplitModule(executable, dict(sorted(named.items())))


def generate_kernel(
    name: str, kernel: Any, machine: Machine, pass_context: Mapping[str, Any], prefix: str = ""
) -> Any:
    """Generate the code of a kernel in memory.

    Args:
        name: Name of the kernel.
        kernel: TIR function.
        machine: Machine to generate for.
        pass_context: See `make_pass_context`.
        prefix: Prefix of a system library's symbols, whose objects register themselves with TVM's runtime
            when the program starts; empty for a library that is loaded.

    Returns:
        TVM's module of one function.

    Raises:
        BuildError: TVM refuses the options of `pass_context`.
    """
    module = tvm.IRModule({name: kernel})
    if prefix:  # instructions name kernels without the prefix, and a system library finds them so
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
    """Write the object file of a kernel, and the code for its GPU.

    The stored objects are keyed by the code of this function and of all that it may call.

    Args:
        name: Name of the kernel.
        kernel: TIR function.
        machine: Machine to generate for.
        pass_context: See `make_pass_context`.
        prefix: See `generate_kernel`.
        path: The object file.
        device: File of the code that a GPU executes, empty if the kernel runs on the host alone.

    Raises:
        BuildError: TVM refuses the options of `pass_context`.
    """
    generated = generate_kernel(name, kernel, machine, pass_context, prefix)
    generated.write_to_file(str(path))
    if device is not None:
        code = extract_device_code(generated)
        device.write_bytes(code.to_bytes() if code is not None else b"")


def extract_device_code(module: Any) -> DeviceCode | None:
    """Return the GPU kernels that a host module imports, as TVM packs them, or None if it imports none.

    Raises:
        BuildError: The kernels are for several kinds of GPU.
    """
    if not module.imports:
        return None
    if len(module.imports) > 1:
        raise BuildError(f"{len(module.imports)} modules for GPUs were generated, not one")
    packed = runtime_api.ModulePackImportsToTensor(module).numpy().tobytes()
    at = packed.find(_SELF)
    kind, at = _read_block(packed, at + len(_SELF))
    content, _ = _read_block(packed, at)
    return DeviceCode.from_bytes(kind.decode(), content)


def _read_block(data: bytes, at: int) -> tuple[bytes, int]:
    """Read a block of bytes that follows its size; also return where it ends."""
    (size,) = struct.unpack_from("<Q", data, at)
    return data[at + 8 : at + 8 + size], at + 8 + size


def write_instructions(executable: Any, machine: Machine, path: Path, prefix: str = "") -> None:
    """Write the VM instructions, which are data, as an object file; `prefix` as in `generate_kernel`."""
    target: Any = tvm_target(machine)
    packed = runtime_api.ModulePackImportsToLLVM(executable, bool(prefix), str(target.host or target), prefix)
    packed.write_to_file(str(path))


def lower_to_vm() -> Any:
    """Return the pass that lowers the rest of Relax to instructions of the virtual machine."""
    # TVM cannot print modules after this pass.
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
    """Apply TVM's VMShapeLower and sort the stores of computed lengths by slot."""
    # TVM stores them in the order of a hash table of addresses, so that libraries would not be reproducible.
    # Every length is computed from those of the inputs, which are stored before, so any order is right.
    lowered = relax.transform.VMShapeLower()(module)
    for name, function in lowered.functions.items():
        if name not in module.functions and isinstance(function.body, tirx.SeqStmt):
            stores = sorted(function.body, key=lambda store: int(store.indices[0]))
            lowered.update_func(name, function.with_body(tirx.SeqStmt(stores)))
    return lowered
