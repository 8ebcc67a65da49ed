"""Lets a convolution leave the moments of its result behind, so that nothing reads the result again for them.

Comes before select_kernels. Moments of the same tensor are taken once, whoever asks.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tvm import relax

from kokoro_tvm.ops.base.relax import Use, call_with
from kokoro_tvm.passes import LoweringContext, bindings_of

__all__ = ["apply"]


def apply(module: Any, context: LoweringContext) -> Any:
    uses = {
        b.var: use for b in bindings_of(module[context.forward]) if (use := context.use(b.value)) is not None
    }
    wanted: dict[Any, Any] = {}  # tensor -> the type of its moments
    for variable, use in uses.items():
        producer = uses.get(use.arguments[0]) if use.operation.name == "moments" else None
        if producer is not None and producer.kernel.gives_moments(producer.call):
            wanted[use.arguments[0]] = variable.ty
    return context.rewritten(module, _Fuser(module, uses, wanted))


@relax.expr_functor.mutator
class _Fuser(relax.PyExprMutator):
    """Gives producers a second result, and takes moments from there."""

    def __init__(self, module: Any, uses: Mapping[Any, Use], wanted: Mapping[Any, Any]) -> None:
        super().__init__(module)
        self._uses, self._wanted = uses, wanted
        self._moments: dict[Any, Any] = {}  # tensor (as it was) -> its moments

    def visit_var_binding_(self, binding: Any) -> None:
        use = self._uses.get(binding.var)
        if use is not None and binding.var in self._wanted:
            results = [binding.value.ty, self._wanted[binding.var]]
            pair = self.builder_.emit(call_with(binding.value, map(self.visit_expr, use.arguments), results))
            self.set_var_remap(binding.var, self.builder_.emit(relax.TupleGetItem(pair, 0)))
            self._moments[binding.var] = self.builder_.emit(relax.TupleGetItem(pair, 1))
        elif use is not None and use.operation.name == "moments":
            tensor = use.arguments[0]
            if tensor not in self._moments:
                self._moments[tensor] = self.builder_.emit(self.visit_expr(binding.value))
            self.set_var_remap(binding.var, self._moments[tensor])
        else:
            super().visit_var_binding_(binding)
