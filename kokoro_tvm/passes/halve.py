"""Keeps in memory as float16 what tolerant layers hand to one another, where a recipe asks for it.

A result is float16 where the kernel that makes it can round it and all that read it can widen it: kernels
compute in float32 (`OpImplementation.halves`). Comes after fuse_moments, which takes moments of results before
they are rounded, and before select_kernels.
"""

from __future__ import annotations

from typing import Any

from tvm import relax

from kokoro_tvm.ops.base.relax import call_with
from kokoro_tvm.passes import LoweringContext, list_bindings

__all__ = ["apply"]


def apply(module: Any, context: LoweringContext) -> Any:
    if context.features.precision != "float16":
        return module
    return context.rewrite(module, _Halver(module, _halved(module[context.forward], context)))


def _halved(function: Any, context: LoweringContext) -> set[Any]:
    """Variables of the semantic calls whose result becomes float16."""
    makers: dict[Any, Any] = {}  # tensor, or pair of one and its moments -> the variable of its call
    refused = set(relax.analysis.free_vars(function.body.body))
    for binding in list_bindings(function):
        value = binding.value
        if isinstance(value, relax.TupleGetItem) and value.tuple_value in makers:
            if value.index == 0:
                makers[binding.var] = makers[value.tuple_value]
            continue
        semantic = context.resolve(value)
        able = semantic.kernel.halves(semantic.call) if semantic is not None else frozenset()
        by_name = semantic.by_name if semantic is not None else {}
        refused |= {v for v in relax.analysis.free_vars(value) if v not in {by_name.get(n) for n in able}}
        refused |= {v for n, v in by_name.items() if n not in able}
        if "y" in able:
            makers[binding.var] = binding.var
    return set(makers.values()) - {makers[variable] for variable in refused if variable in makers}


@relax.expr_functor.mutator
class _Halver(relax.PyExprMutator):
    """Gives calls a result of float16, and its readers with it."""

    def __init__(self, module: Any, halved: set[Any]) -> None:
        super().__init__(module)
        self._halved = halved

    def visit_var_binding_(self, binding: Any) -> None:
        if binding.var not in self._halved:
            super().visit_var_binding_(binding)
            return
        call = binding.value
        results = list(call.ty.fields) if isinstance(call.ty, relax.TupleType) else [call.ty]
        results[0] = relax.TensorType(results[0].shape, "float16")
        *tensors, _ = call.args[1]
        rounded = call_with(call, map(self.visit_expr, tensors), results if len(results) > 1 else results[0])
        self.set_var_remap(binding.var, self.builder_.emit(rounded, binding.var.name))
