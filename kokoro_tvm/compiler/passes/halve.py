"""Pass: store what tolerant layers pass to one another as float16, if the recipe's precision is float16.

A result becomes float16 if the kernel that writes it can round it and every reader can widen it; kernels
compute in float32 (`OpImplementation.halves`). Runs after fuse_moments, because moments are taken of results
before they are rounded, and before select_kernels.
"""

from __future__ import annotations

from typing import Any

from tvm import relax

from kokoro_tvm.compiler.passes import LoweringContext, list_bindings
from kokoro_tvm.kernels.base.relax import call_with


def apply(module: Any, context: LoweringContext) -> Any:
    """Store results as float16 if the machine's precision asks for it."""
    if context.features.precision != "float16":
        return module
    return context.rewrite(module, _Halver(module, _select_halved(module[context.forward], context)))


def _select_halved(function: Any, context: LoweringContext) -> set[Any]:
    """Return the variables of the semantic calls whose result becomes float16."""
    producers: dict[Any, Any] = {}  # tensor, or pair of one and its moments -> the variable of its call
    excluded = set(relax.analysis.free_vars(function.body.body))
    for binding in list_bindings(function):
        value = binding.value
        if isinstance(value, relax.TupleGetItem) and value.tuple_value in producers:
            if value.index == 0:
                producers[binding.var] = producers[value.tuple_value]
            continue
        semantic = context.resolve(value)
        convertible = semantic.kernel.halves(semantic.call) if semantic is not None else frozenset()
        by_name = semantic.by_name if semantic is not None else {}
        excluded |= {
            v for v in relax.analysis.free_vars(value) if v not in {by_name.get(n) for n in convertible}
        }
        excluded |= {v for n, v in by_name.items() if n not in convertible}
        if "y" in convertible:
            producers[binding.var] = binding.var
    return set(producers.values()) - {producers[variable] for variable in excluded if variable in producers}


@relax.expr_functor.mutator
class _Halver(relax.PyExprMutator):
    """Mutator that makes the first result of calls float16."""

    def __init__(self, module: Any, halved: set[Any]) -> None:
        super().__init__(module)
        self._halved = halved

    def visit_var_binding_(self, binding: Any) -> None:
        """Change the first result of a selected call to float16."""
        if binding.var not in self._halved:
            super().visit_var_binding_(binding)
            return
        call = binding.value
        results = list(call.ty.fields) if isinstance(call.ty, relax.TupleType) else [call.ty]
        results[0] = relax.TensorType(results[0].shape, "float16")
        *tensors, _ = call.args[1]
        rounded = call_with(call, map(self.visit_expr, tensors), results if len(results) > 1 else results[0])
        self.set_var_remap(binding.var, self.builder_.emit(rounded, binding.var.name))
