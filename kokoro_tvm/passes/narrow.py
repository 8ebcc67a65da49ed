"""Makes every int64 tensor one of int32, inputs as well, for machines whose kernels know no wider integer.

An index that is a constant becomes a slice.

Comes before legalize, for TVM narrows the indices of a TIR function, but refuses one with wide tensors.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import tvm
from tvm import relax

from kokoro_tvm.errors import BuildError
from kokoro_tvm.passes import LoweringContext

__all__ = ["apply"]

_WIDE, _NARROW = "int64", "int32"


def apply(module: Any, context: LoweringContext) -> Any:
    """Raises BuildError for a constant that does not fit."""
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
    """Errors are raised here and not inside a visitor, where TVM would turn them into its own."""
    limits, found = np.iinfo(_NARROW), []

    def visit(node: Any) -> None:
        if _is_wide(node):
            found.append(node.value.numpy())

    relax.analysis.post_order_visit(function, visit)
    for values in found:
        if values.size and (values.min() < limits.min or values.max() > limits.max):
            raise BuildError(
                f"{component}: the constant {values} does not fit {_NARROW}, which its kernels take"
            )


def _is_wide(node: Any) -> bool:
    """Whether a node is a constant tensor of wide integers."""
    is_tensor = isinstance(node, tvm.ir.GenericConst) and isinstance(node.ty, relax.TensorType)
    return is_tensor and str(node.ty.dtype) == _WIDE


@relax.expr_functor.mutator
class _Narrower(relax.PyExprMutator):
    def visit_generic_const_(self, constant: Any) -> Any:
        if not _is_wide(constant):
            return constant
        return relax.const(constant.value.numpy().astype(_NARROW), _NARROW)

    def visit_call_(self, call: Any) -> Any:
        if call.op == tvm.ir.Op.get("relax.arange") and str(call.attrs.dtype) == _WIDE:
            return relax.op.arange(*call.args, dtype=_NARROW)
        if call.op == tvm.ir.Op.get("relax.take") and _is_wide(call.args[1]) and not call.args[1].ty.ndim:
            return self._slice(
                self.visit_expr(call.args[0]), int(call.args[1].value.numpy()), call.attrs.axis
            )
        return super().visit_call_(call)

    def _slice(self, tensor: Any, index: int, axis: Any) -> Any:
        """One element along an axis, by an index that no tensor has to hold on the device."""
        at = int(axis)
        first = index if index >= 0 else index + int(tensor.ty.shape[at])
        part = self.builder_.emit(relax.op.strided_slice(tensor, [at], [first], [first + 1]))
        return relax.op.squeeze(part, [at])
