"""Lets a convolution leave the moments of its result behind, so that nothing reads the result again for them.

Comes before select_kernels. Moments of the same tensor are taken once, whoever asks.
"""

from __future__ import annotations

import json
from typing import Any

import tvm
from tvm import relax

from kokoro_tvm.ops.base.relax import as_semantic_call, described
from kokoro_tvm.ops.base.semantic import registry
from kokoro_tvm.passes.base.context import LoweringContext

__all__ = ["apply"]


def apply(module: Any, context: LoweringContext) -> Any:
    name = f"{context.component}_forward"
    function = module[name]
    bindings = [b for block in function.body.blocks for b in block.bindings]
    calls = {
        b.var: b.value for b in bindings if isinstance(b.value, relax.Call) and as_semantic_call(b.value)
    }
    wanted: dict[Any, Any] = {}  # tensor -> the type of its moments
    for call in calls.values():
        operation, _, _, arguments = as_semantic_call(call)  # type: ignore[misc]
        if operation == "moments" and arguments[0] in calls:
            _, producer, _, _ = described(calls[arguments[0]], context.features, context.schedule)
            operation = as_semantic_call(calls[arguments[0]])[0]  # type: ignore[index]
            if registry()[operation].gives_moments(producer):
                wanted[arguments[0]] = call.ty
    fuser = _Fuser(module, wanted)
    module = fuser.builder_.get()
    module[name] = relax.Function(
        function.params, fuser.visit_expr(function.body), function.ret_ty, function.is_pure, function.attrs
    )
    return module


@relax.expr_functor.mutator
class _Fuser(relax.PyExprMutator):
    """Gives producers a second result, and takes moments from there."""

    def __init__(self, module: Any, wanted: dict[Any, Any]) -> None:
        super().__init__(module)
        self._wanted = wanted
        self._moments: dict[Any, Any] = {}  # tensor (as it was) -> its moments

    def visit_var_binding_(self, binding: Any) -> None:
        found = as_semantic_call(binding.value) if isinstance(binding.value, relax.Call) else None
        if found is not None and binding.var in self._wanted:
            operation, tensors, attributes, arguments = found
            description = json.dumps({"tensors": tensors, "attributes": attributes}, sort_keys=True)
            both = relax.call_dps_packed(
                relax.ExternFunc(f"kokoro.{operation}"),
                relax.Tuple([*map(self.visit_expr, arguments), tvm.ir.StringImm(description)]),
                [binding.value.ty, self._wanted[binding.var]],
            )
            pair = self.builder_.emit(both)
            self.set_var_remap(binding.var, self.builder_.emit(relax.TupleGetItem(pair, 0)))
            self._moments[binding.var] = self.builder_.emit(relax.TupleGetItem(pair, 1))
            return
        if found is not None and found[0] == "moments":
            tensor = found[3][0]
            if tensor not in self._moments:
                self._moments[tensor] = self.builder_.emit(self.visit_expr(binding.value))
            self.set_var_remap(binding.var, self._moments[tensor])
            return
        super().visit_var_binding_(binding)
