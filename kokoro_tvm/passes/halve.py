"""Keeps in memory as float16 what tolerant layers hand to one another, where a recipe asks for it.

A result is float16 where the kernel that makes it can round it and all that read it can widen it: kernels
compute in float32 (`HandKernel.halves`). Comes after fuse_moments, which takes moments of results before
they are rounded, and before select_kernels.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tvm
from tvm import relax

from kokoro_tvm.ops.base.relax import as_semantic_call, described
from kokoro_tvm.ops.base.semantic import registry
from kokoro_tvm.passes.base.context import LoweringContext

__all__ = ["apply"]


def apply(module: Any, context: LoweringContext) -> Any:
    if context.features.precision != "float16":
        return module
    name = f"{context.component}_forward"
    function = module[name]
    halver = _Halver(module, _halved(function, context))
    body = halver.visit_expr(function.body)
    module = halver.builder_.get()
    module[name] = relax.Function(function.params, body, function.ret_ty, function.is_pure, function.attrs)
    return module


def _halved(function: Any, context: LoweringContext) -> set[Any]:
    """Variables of the semantic calls whose result becomes float16."""
    bindings = [binding for block in function.body.blocks for binding in block.bindings]
    makers: dict[
        Any, Any
    ] = {}  # tensor, or pair of one and its moments -> the variable of the call that makes it
    refused = set(relax.analysis.free_vars(function.body.body))
    for binding in bindings:
        value = binding.value
        if isinstance(value, relax.TupleGetItem) and value.tuple_value in makers:
            if value.index == 0:
                makers[binding.var] = makers[value.tuple_value]
            continue
        able, arguments = _able(value, context)
        refused |= {v for v in relax.analysis.free_vars(value) if v not in {arguments.get(n) for n in able}}
        refused |= {v for n, v in arguments.items() if n not in able}
        if "y" in able:
            makers[binding.var] = binding.var
    return set(makers.values()) - {makers[variable] for variable in refused if variable in makers}


def _able(value: Any, context: LoweringContext) -> tuple[frozenset[str], Mapping[str, Any]]:
    """What the kernel of a semantic call takes and makes as float16, and the call's tensors by name."""
    if not isinstance(value, relax.Call) or as_semantic_call(value) is None:
        return frozenset(), {}
    operation, call, tensors, arguments = described(value, context.features, context.schedule)
    return registry()[operation].halves(call), dict(zip(tensors, arguments, strict=True))


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
        function, arguments = call.args[:2]
        rounded = relax.call_dps_packed(
            function,
            relax.Tuple([a if isinstance(a, tvm.ir.StringImm) else self.visit_expr(a) for a in arguments]),
            results if len(results) > 1 else results[0],
        )
        self.set_var_remap(binding.var, self.builder_.emit(rounded, binding.var.name))
