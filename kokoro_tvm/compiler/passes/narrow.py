"""Pass: narrow every int64 tensor to int32, inputs included, for GPUs, whose kernels have no wider integer.

A constant index becomes a slice. Runs before legalize: TVM narrows the indices of a TIR function, but refuses
functions with int64 tensors.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import tvm
from tvm import relax

from kokoro_tvm.common.errors import BuildError
from kokoro_tvm.compiler.passes import LoweringContext

_WIDE, _NARROW = "int64", "int32"


def apply(module: Any, context: LoweringContext) -> Any:
    """Narrow the tensors of the component's function.

    Raises:
        BuildError: A constant does not fit int32.
    """
    if context.features.kernels != "gpu":
        return module
    function = module[context.forward]
    _check(function, context.component)
    narrower = _Narrower(module)
    parameters = []
    for parameter in function.params:
        kind = parameter.ty
        if str(kind.dtype) == _WIDE:
            narrow = relax.Var(parameter.name, relax.TensorType(kind.shape, _NARROW))
            narrower.set_var_remap(parameter, narrow)
            parameters.append(narrow)
        else:
            parameters.append(parameter)
    body = narrower.visit_expr(function.body)
    result = narrower.builder_.get()
    result[context.forward] = relax.Function(parameters, body, body.ty, function.is_pure, function.attrs)
    return result


def _check(function: Any, component: str) -> None:
    """Raise BuildError for a constant that does not fit."""
    # TVM turns errors raised inside a mutator into its own.
    limits, constants = np.iinfo(_NARROW), []

    def visit(node: Any) -> None:
        """Collect the constants of int64."""
        if _is_wide(node):
            constants.append(node.value.numpy())

    relax.analysis.post_order_visit(function, visit)
    for values in constants:
        if values.size and (values.min() < limits.min or values.max() > limits.max):
            raise BuildError(
                f"{component}: the constant {values} does not fit {_NARROW}, which its kernels take"
            )


def _is_wide(node: Any) -> bool:
    """Return whether a node is a constant tensor of int64."""
    is_tensor = isinstance(node, tvm.ir.GenericConst) and isinstance(node.ty, relax.TensorType)
    return is_tensor and str(node.ty.dtype) == _WIDE


@relax.expr_functor.mutator
class _Narrower(relax.PyExprMutator):
    """Mutator that narrows constants, aranges and indices."""

    def visit_generic_const_(self, constant: Any) -> Any:
        if not _is_wide(constant):
            return constant
        return relax.const(constant.value.numpy().astype(_NARROW), _NARROW)

    def visit_call_(self, call: Any) -> Any:
        """Make an arange int32, and replace `take` of one constant index by a slice."""
        if call.op == tvm.ir.Op.get("relax.arange") and str(call.attrs.dtype) == _WIDE:
            return relax.op.arange(*call.args, dtype=_NARROW)
        if call.op == tvm.ir.Op.get("relax.take") and _is_wide(call.args[1]) and not call.args[1].ty.ndim:
            return self._slice(
                self.visit_expr(call.args[0]), int(call.args[1].value.numpy()), call.attrs.axis
            )
        return super().visit_call_(call)

    def _slice(self, tensor: Any, index: int, axis: Any) -> Any:
        """Slice one element along an axis, so that no index tensor is needed on the device."""
        at = int(axis)
        first = index if index >= 0 else index + int(tensor.ty.shape[at])
        part = self.builder_.emit(relax.op.strided_slice(tensor, [at], [first], [first + 1]))
        return relax.op.squeeze(part, [at])
