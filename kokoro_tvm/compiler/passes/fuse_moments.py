"""Pass: let a convolution emit the moments of its result, so that no kernel reads the result again for them.

Runs before select_kernels. The moments of a tensor are computed once for all users.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tvm import relax

from kokoro_tvm.compiler.passes import LoweringContext, list_bindings
from kokoro_tvm.kernels.base.relax import SemanticCall, call_with


def apply(module: Any, context: LoweringContext) -> Any:
    """Fuse moments into the calls whose results they are taken of."""
    semantic_calls = {
        b.var: semantic
        for b in list_bindings(module[context.forward])
        if (semantic := context.resolve(b.value)) is not None
    }
    moment_types: dict[Any, Any] = {}  # tensor -> the type of its moments
    for variable, semantic in semantic_calls.items():
        producer = semantic_calls.get(semantic.arguments[0]) if semantic.operation.name == "moments" else None
        if producer is not None and producer.kernel.can_emit_moments(producer.call):
            moment_types[semantic.arguments[0]] = variable.ty
    return context.rewrite(module, _Fuser(module, semantic_calls, moment_types))


@relax.expr_functor.mutator
class _Fuser(relax.PyExprMutator):
    """Mutator that gives producers a second result and replaces moments by it."""

    def __init__(
        self, module: Any, semantic_calls: Mapping[Any, SemanticCall], moment_types: Mapping[Any, Any]
    ) -> None:
        super().__init__(module)
        self._semantic_calls, self._moment_types = semantic_calls, moment_types
        self._moments: dict[Any, Any] = {}  # tensor (as it was) -> its moments

    def visit_var_binding_(self, binding: Any) -> None:
        """Give a producer the moments as second result; replace calls of `moments` by that result."""
        semantic = self._semantic_calls.get(binding.var)
        if semantic is not None and binding.var in self._moment_types:
            results = [binding.value.ty, self._moment_types[binding.var]]
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
