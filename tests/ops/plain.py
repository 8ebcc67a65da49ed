"""Decompositions as a target without kernels has them: lowered by the recipe's passes, compiled, loaded."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import numpy as np
import tvm
from lowering import PASSES
from torch import Tensor
from tvm import relax, tirx
from tvm.s_tir import dlight

from kokoro_tvm.compiler.codegen import to_virtual_machine
from kokoro_tvm.features import NO_KERNELS
from kokoro_tvm.ops.base.relax import semantic_call
from kokoro_tvm.ops.base.semantic import registry
from kokoro_tvm.passes import LoweringContext, run

from .support import AXES, LIKE_RESULT, complete

TARGETS: dict[str, dict[str, Any]] = {
    "llvm": {"kind": "llvm"},  # without a CPU: what every one of the architecture has
    "c": {"kind": "c"},
}

Attributes = Mapping[str, Any]


def decomposed(
    operation: str,
    tensors: Mapping[str, Tensor | None],
    attributes: Attributes,
    target: str,
    *,
    dynamic: bool = True,
) -> np.ndarray:
    """What the decomposition makes of the tensors; dynamic: lengths are known only at run time."""
    machine = _compiled(operation, *_described(operation, tensors, attributes, dynamic), target)
    given = [tvm.runtime.tensor(tensor.numpy()) for tensor in tensors.values() if tensor is not None]
    return np.array(machine["op_forward"](*given).numpy())


def generated(operation: str, tensors: Mapping[str, Tensor | None], attributes: Attributes) -> str:
    """The shaders that TVM's default schedules make of the decomposition."""
    target = tvm.target.Target({"kind": "webgpu", "host": {"kind": "llvm"}})
    with target:
        module = lowered(operation, *_described(operation, tensors, attributes, dynamic=True), target)
        module = dlight.ApplyDefaultSchedule(dlight.gpu.Fallback())(module)
        module = tvm.s_tir.transform.DefaultGPUSchedule()(module)
        executable = relax.build(module, target=target, relax_pipeline=to_virtual_machine())
    return "\n".join(_sources(executable.mod))


def _sources(module: Any) -> list[str]:
    own = [module.inspect_source()] if module.kind == "webgpu" else []
    return own + [source for imported in module.imports for source in _sources(imported)]


def _described(
    operation: str, tensors: Mapping[str, Tensor | None], attributes: Attributes, dynamic: bool
) -> tuple[Any, Any]:
    """(name, shape, dtype) of the present tensors, and all attributes, hashable."""
    shapes = []
    for name, tensor in tensors.items():
        if tensor is not None:
            shape = tuple(tensor.shape)
            extents = _named(operation, name, shape) if dynamic else shape
            shapes.append((name, extents, str(tensor.numpy().dtype)))
    return tuple(shapes), tuple(sorted(complete(operation, attributes).items()))


def _named(operation: str, name: str, shape: tuple[int, ...]) -> tuple[int | None, ...]:
    """None in place of the extent that is known only at run time."""
    axis = AXES[operation].get(name)
    return tuple(None if i == axis else extent for i, extent in enumerate(shape))


@cache
def _compiled(operation: str, shapes: Any, attributes: Any, target: str) -> Any:
    device = tvm.target.Target(TARGETS[target])
    module = lowered(operation, shapes, attributes, device)
    executable = relax.build(module, target=device, relax_pipeline=to_virtual_machine())
    path = Path(mkdtemp(), "op.so")
    executable.export_library(str(path), cc="g++" if target == "llvm" else "gcc")
    return relax.VirtualMachine(tvm.runtime.load_module(str(path)), tvm.cpu())


def lowered(operation: str, shapes: Any, attributes: Any, target: Any) -> Any:
    """A module that does nothing but the operation, of no kernels."""
    op, full_attributes = registry()[operation], dict(attributes)
    steps = tirx.Var("n", "int64")

    def extents(shape: tuple[int | None, ...]) -> list[Any]:
        return [steps if extent is None else tirx.const(extent, "int64") for extent in shape]

    known = {name: extents(shape) for name, shape, _ in shapes if name not in LIKE_RESULT}
    full = {name: known.get(name) for name in op.tensors}
    result = op.shape(**full, **full_attributes)
    parameters = []
    for name, shape, dtype in shapes:
        wanted = (
            known[name] if name in known else [result[i] if e is None else e for i, e in enumerate(shape)]
        )
        parameters.append(relax.Var(name, relax.TensorType(wanted, dtype)))
    builder = relax.BlockBuilder()
    with builder.function("op_forward", parameters):
        with builder.dataflow():
            call = semantic_call(
                operation, dict(zip((n for n, *_ in shapes), parameters, strict=True)), full_attributes
            )
            made = builder.emit_output(builder.emit(call))
        builder.emit_func_output(made)
    context = LoweringContext("op", target, NO_KERNELS, frozenset())
    return run(builder.get(), PASSES, context)
