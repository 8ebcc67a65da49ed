"""Lets a convolution leave the moments of its result behind, so that nothing reads the result again for them.

Comes before select_kernels. Moments of the same tensor are taken once, whoever asks.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tvm import relax

from kokoro_tvm.ops.base.relax import SemanticCall, call_with
from kokoro_tvm.passes import LoweringContext, list_bindings

__all__ = ["apply"]


def apply(module: Any, context: LoweringContext) -> Any:
    semantic_calls = {
        b.var: semantic
        for b in list_bindings(module[context.forward])
        if (semantic := context.resolve(b.value)) is not None
    }
    wanted: dict[Any, Any] = {}  # tensor -> the type of its moments
    for variable, semantic in semantic_calls.items():
        producer = semantic_calls.get(semantic.arguments[0]) if semantic.operation.name == "moments" else None
        if producer is not None and producer.kernel.can_emit_moments(producer.call):
            wanted[semantic.arguments[0]] = variable.ty
    return context.rewrite(module, _Fuser(module, semantic_calls, wanted))


@relax.expr_functor.mutator
class _Fuser(relax.PyExprMutator):
    """Gives producers a second result, and takes moments from there."""

    def __init__(
        self, module: Any, semantic_calls: Mapping[Any, SemanticCall], wanted: Mapping[Any, Any]
    ) -> None:
        super().__init__(module)
        self._semantic_calls, self._wanted = semantic_calls, wanted
        self._moments: dict[Any, Any] = {}  # tensor (as it was) -> its moments

    def visit_var_binding_(self, binding: Any) -> None:
        semantic = self._semantic_calls.get(binding.var)
        if semantic is not None and binding.var in self._wanted:
            results = [binding.value.ty, self._wanted[binding.var]]
            pair = self.builder_.emit(
                call_with(binding.value, map(self.visit_expr, semantic.arguments), results)
            )
            self.set_var_remap(binding.var, self.builder_.emit(relax.TupleGetItem(pair, 0)))
            self._moments[binding.var] = self.builder_.emit(relax.TupleGetItem(pair, 1))
        elif semantic is not None and semantic.operation.name == "moments":
            tensor = semantic.arguments[0]
            if tensor not in self._moments:
                self._moments[tensor] = self.builder_.emit(self.visit_expr(binding.value))
            self.set_var_remap(binding.var, self._moments[tensor])
        else:
            super().visit_var_binding_(binding)
