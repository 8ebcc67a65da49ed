"""The compile stage: a lowered module becomes a shared library."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import tvm
from tvm import relax, tirx

from kokoro_tvm.errors import BuildError
from kokoro_tvm.linker import LINKER, linker_version
from kokoro_tvm.target import Machine, tvm_target

__all__ = ["compile_module", "generate"]


def generate(module: Any, machine: Machine) -> Any:
    """A lowered module's code for `machine`, in memory: TVM's executable."""
    return relax.build(module, target=tvm_target(machine), relax_pipeline=_to_virtual_machine())


def compile_module(module: Any, machine: Machine, out_path: Path) -> Path:
    """Generates code for `machine` and links it into the shared library `out_path`, whole or not at all.

    Raises BuildError when the linker is missing or fails.
    """
    version = linker_version()
    executable = generate(module, machine)
    with TemporaryDirectory(dir=out_path.parent, prefix=".link-") as folder:
        partial = Path(folder) / out_path.name
        try:
            executable.export_library(str(partial), workspace_dir=folder, cc=LINKER)
        except RuntimeError as error:
            raise BuildError(f"{version} could not link {out_path.name}: {error}") from error
        if not partial.is_file() or partial.stat().st_size == 0:
            raise BuildError(f"{version} left no library behind for {out_path.name}; is the disk full?")
        partial.replace(out_path)
    return out_path


def _to_virtual_machine() -> Any:
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
