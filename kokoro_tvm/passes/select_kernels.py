"""Puts a kernel in the place of every semantic operation, and its packing on every weight the kernel wants packed."""

from __future__ import annotations

import json
from typing import Any

import tvm
from tvm import relax

from kokoro_tvm.errors import BuildError
from kokoro_tvm.ops._packed import PackedWeight
from kokoro_tvm.ops._relax import as_semantic_call, names_for
from kokoro_tvm.ops._semantic import Call, registry
from kokoro_tvm.passes._context import LoweringContext

__all__ = ["PACKINGS", "apply"]

PACKINGS = "kokoro.packings"
"""Attribute of the component's function: JSON, weight name -> how it is packed."""


def apply(module: Any, context: LoweringContext) -> Any:
    """Rewrites the component's function; raises BuildError where an operation has no kernel for what it is asked."""
    name = f"{context.component}_forward"
    function = module[name]
    packings = _packings(function, context)
    parameters, remap = [], {}
    for parameter in function.params:
        packed = packings.get(parameter.name)
        if packed is None:
            parameters.append(parameter)
            continue
        shape = packed.shape(tuple(int(extent) for extent in parameter.ty.shape))
        remap[parameter] = relax.Var(parameter.name, relax.TensorType(shape, "float32"))
        parameters.append(remap[parameter])

    selector = _Selector(module, context)
    for old, new in remap.items():
        selector.set_var_remap(old, new)
    body = selector.visit_expr(function.body)
    attributes = dict(function.attrs or {})
    attributes[PACKINGS] = json.dumps({key: value.to_json() for key, value in packings.items()}, sort_keys=True)
    rewritten = relax.Function(parameters, body, function.ret_ty, function.is_pure, tvm.ir.make_node("ir.DictAttrs", **attributes))
    result = selector.builder_.get()
    result[name] = rewritten
    return result


def _call(call: Any, context: LoweringContext) -> tuple[str, Call, list[str], Any]:
    operation, tensors, attributes, arguments = as_semantic_call(call)
    shapes = {t: names_for(t, a.ty.shape) for t, a in zip(tensors, arguments, strict=True)}
    result = names_for("y", call.ty.shape)
    return operation, Call(shapes, attributes, result, context.features), tensors, arguments


def _packings(function: Any, context: LoweringContext) -> dict[str, PackedWeight]:
    """How every weight must be packed; one weight, one packing."""
    packings: dict[str, PackedWeight] = {}
    plain: set[str] = set()

    def visit(node: Any) -> None:
        if not isinstance(node, relax.Call) or as_semantic_call(node) is None:
            return
        operation, call, tensors, arguments = _call(node, context)
        wanted = registry()[operation].packings(call)
        for tensor, argument in zip(tensors, arguments, strict=True):
            if not isinstance(argument, relax.Var) or argument.name not in context.weights:
                if tensor in wanted:
                    raise BuildError(
                        f"{context.component}: {operation} wants its {tensor} packed at build time, but it is computed"
                    )
                continue
            weight = argument.name
            if tensor not in wanted:
                plain.add(weight)
                continue
            packed = PackedWeight(operation, tensor, call, wanted[tensor].name)
            if packings.setdefault(weight, packed).name != packed.name:
                raise BuildError(
                    f"{context.component}: {weight} is wanted as {packings[weight].name} and as {packed.name}"
                )

    relax.analysis.post_order_visit(function, visit)
    both = sorted(plain & set(packings))
    if both:
        raise BuildError(f"{context.component}: used both packed and as they are: {', '.join(both)}")
    return packings


@relax.expr_functor.mutator
class _Selector(relax.PyExprMutator):
    """Replaces semantic calls; equal calls share one kernel."""

    def __init__(self, module: Any, context: LoweringContext) -> None:
        super().__init__(module)
        self._context = context
        self._kernels: dict[str, Any] = {}

    def visit_call_(self, call: Any) -> Any:
        if as_semantic_call(call) is None:
            return super().visit_call_(call)
        operation, described, _, arguments = _call(call, self._context)
        arguments = [self.visit_expr(a) for a in arguments]
        return relax.call_tir(self._kernel(operation, described), arguments, out_ty=call.ty)

    def _kernel(self, operation: str, call: Call) -> Any:
        key = json.dumps([operation, call.shapes, call.attributes, call.result], sort_keys=True, default=str)
        if key not in self._kernels:
            try:
                kernel = registry()[operation].kernel(call)
            except NotImplementedError as error:
                raise BuildError(f"{self._context.component}: {error}") from error
            name = f"{self._context.component}_{operation}_{len(self._kernels)}"
            self._kernels[key] = self.builder_.add_func(kernel.with_attr("global_symbol", name), name)
        return self._kernels[key]


