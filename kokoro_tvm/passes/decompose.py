"""Puts plain Relax in the place of every semantic operation that the machine has no kernel for.

Comes before legalize, so that what it makes is legalised and fused like everything else.
"""

from __future__ import annotations

from typing import Any

from tvm import relax

from kokoro_tvm.ops.base.relax import as_semantic_call
from kokoro_tvm.ops.base.semantic import registry
from kokoro_tvm.passes.base.context import LoweringContext

__all__ = ["apply"]


def apply(module: Any, context: LoweringContext) -> Any:
    if all(op.kernel_for(context.features) is not None for op in registry().values()):
        return module
    name = f"{context.component}_forward"
    decomposer = _Decomposer(module, context)
    function = decomposer.visit_expr(module[name])
    result = decomposer.builder_.get()
    result[name] = function
    return result


@relax.expr_functor.mutator
class _Decomposer(relax.PyExprMutator):
    def __init__(self, module: Any, context: LoweringContext) -> None:
        super().__init__(module)
        self._features = context.features

    def visit_call_(self, call: Any) -> Any:
        found = as_semantic_call(call)
        if found is None:
            return super().visit_call_(call)
        name, present, attributes, arguments = found
        operation = registry()[name]
        if operation.kernel_for(self._features) is not None:
            return super().visit_call_(call)
        tensors = dict(zip(present, map(self.visit_expr, arguments), strict=True))
        given = [tensors.get(tensor) for tensor in operation.tensors]
        return operation.decomposition(self.builder_, *given, **attributes)
