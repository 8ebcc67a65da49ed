"""Puts a kernel in the place of every semantic operation, and its packing on every weight that it wants
packed. Calls that share a launch take their weights as one.

Every function is named after the component, those made by legalising too, so that modules can live together.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

import tvm
from tvm import relax

from kokoro_tvm.errors import BuildError
from kokoro_tvm.ops.base.packed import PackedWeight
from kokoro_tvm.ops.base.relax import as_semantic_call, described
from kokoro_tvm.ops.base.semantic import Call, registry
from kokoro_tvm.passes.base.context import LoweringContext
from kokoro_tvm.passes.base.joined import JOINED, Joined, joined_weights, taken

__all__ = ["IN_PLACE", "PACKINGS", "WORK", "apply"]

PACKINGS = "kokoro.packings"
"""Attribute of the component's function: JSON, weight name -> how it is packed."""

WORK = "kokoro.work"

IN_PLACE = "kokoro.in_place"
"""Attribute of a kernel: JSON, the position of its result among its arguments, and those of the arguments
whose memory it may take."""


def apply(module: Any, context: LoweringContext) -> Any:
    """Rewrites the component's function. Raises BuildError for a call that there is no kernel for."""
    name = f"{context.component}_forward"
    function = module[name]
    calls: list[Any] = []
    relax.analysis.post_order_visit(
        function, lambda n: calls.append(n) if isinstance(n, relax.Call) else None
    )
    # Errors are raised here and not inside a visitor, where TVM would turn them into its own.
    joined = joined_weights(calls, context)
    packings = _packings([call for call in calls if call not in joined], context)
    apart = {weight for each in joined.values() for weight, _ in each.parts}
    parameters, remap = [], {}
    for parameter in function.params:
        if parameter in apart:
            continue
        packed = packings.get(parameter.name)
        if packed is None:
            parameters.append(parameter)
            continue
        shape, dtype = packed.layout(tuple(int(extent) for extent in parameter.ty.shape))
        remap[parameter] = relax.Var(parameter.name, relax.TensorType(shape, dtype))
        parameters.append(remap[parameter])

    parameters += [each.variable for each in joined.values()]

    kernels = _kernels(calls, context)
    selector = _Selector(module, context, kernels, joined)
    for old, new in remap.items():
        selector.set_var_remap(old, new)
    body = selector.visit_expr(function.body)
    attributes = dict(function.attrs or {})
    layouts = {weight: packed.to_json() for weight, packed in packings.items()}
    attributes[PACKINGS] = json.dumps(layouts, sort_keys=True)
    if joined:
        parts = {each.variable.name: each.to_json() for each in joined.values()}
        attributes[JOINED] = json.dumps(parts, sort_keys=True)
    attributes = tvm.ir.make_node("ir.DictAttrs", **attributes)
    result = selector.builder_.get()
    result[name] = relax.Function(parameters, body, function.ret_ty, function.is_pure, attributes)
    result = _with_table(result, context, kernels)
    for variable in result.get_global_vars():  # by now nothing calls a function by another name
        if not variable.name_hint.startswith(f"{context.component}_"):
            del result[variable]
    return result


def _packings(calls: Sequence[Any], context: LoweringContext) -> dict[str, PackedWeight]:
    """How every weight must be packed; one weight, one packing."""
    packings: dict[str, PackedWeight] = {}
    plain: set[str] = set()

    def weight(argument: Any) -> str | None:
        is_weight = isinstance(argument, relax.Var) and argument.name in context.weights
        return argument.name if is_weight else None

    for node in calls:
        if as_semantic_call(node) is None:
            tuples = [a.fields for a in node.args if isinstance(a, relax.Tuple)]
            plain |= {name for a in chain(node.args, *tuples) if (name := weight(a)) is not None}
            continue
        operation, call, tensors, arguments = described(node, context.features, context.schedule)
        wanted = registry()[operation].packings(call)
        for tensor, argument in zip(tensors, arguments, strict=True):
            name = weight(argument)
            if tensor in wanted and name is None:
                raise BuildError(
                    f"{context.component}: {operation} wants its {tensor} packed at build time, but it is "
                    "computed"
                )
            if name is None:
                continue
            if tensor not in wanted:
                plain.add(name)
                continue
            packed = PackedWeight(operation, tensor, call, wanted[tensor].name)
            if packings.setdefault(name, packed).name != packed.name:
                raise BuildError(
                    f"{context.component}: {name} is wanted as {packings[name].name} and as {packed.name}"
                )
    both = sorted(plain & set(packings))
    if both:
        raise BuildError(f"{context.component}: used both packed and as they are: {', '.join(both)}")
    return packings


def _key(operation: str, call: Call) -> str:
    return json.dumps(
        [operation, call.shapes, call.attributes, call.result, call.moments, call.halves, call.members],
        sort_keys=True,
        default=str,
    )


def _kernels(calls: Sequence[Any], context: LoweringContext) -> dict[str, Any]:
    """The kernel of every semantic call; equal calls share one."""
    kernels: dict[str, Any] = {}
    for node in calls:
        if as_semantic_call(node) is None:
            continue
        operation, call, tensors, _ = described(node, context.features, context.schedule)
        if (key := _key(operation, call)) in kernels:
            continue
        try:
            kernel = registry()[operation].kernel(call)
        except NotImplementedError as error:
            raise BuildError(f"{context.component}: {error}") from error
        flops = registry()[operation].flops
        results = call.members * (1 if call.moments is None else 2)
        work: dict[str, Any] = {"operation": operation, "results": results}
        if flops is not None:
            work["flops_per_step"] = flops(call)
        kernel = kernel.with_attr(WORK, json.dumps(work))
        if over := registry()[operation].in_place(call) & set(tensors):
            places = {"result": len(tensors), "over": sorted(map(tensors.index, over))}
            kernel = kernel.with_attr(IN_PLACE, json.dumps(places))
        kernels[key] = kernel.with_attr("global_symbol", f"{context.component}_{operation}_{len(kernels)}")
    return kernels


def _with_table(module: Any, context: LoweringContext, kernels: Mapping[str, Any]) -> Any:
    """Adds `<component>_kernels()`: JSON, kernel -> its operation and, where they count, FLOPs per step of
    the result."""
    table = {
        str(kernel.attrs["global_symbol"]): json.loads(str(kernel.attrs[WORK])) for kernel in kernels.values()
    }
    builder = relax.BlockBuilder(module)
    with builder.function(f"{context.component}_kernels", []):
        builder.emit_func_output(tvm.ir.StringImm(json.dumps(table, sort_keys=True)))
    return builder.get()


@relax.expr_functor.mutator
class _Selector(relax.PyExprMutator):
    """Replaces semantic calls, and renames what other calls call."""

    def __init__(
        self,
        module: Any,
        context: LoweringContext,
        kernels: Mapping[str, Any],
        joined: Mapping[Any, Joined],
    ) -> None:
        super().__init__(module)
        self._joined = joined
        self._context = context
        self._module = module
        self._kernels = kernels
        self._renamed: dict[Any, Any] = {}

    def visit_global_var_(self, variable: Any) -> Any:
        prefix = f"{self._context.component}_"
        if variable.name_hint.startswith(prefix):
            return variable
        if variable not in self._renamed:
            name = prefix + variable.name_hint
            function = self._module[variable].with_attr("global_symbol", name)
            self._renamed[variable] = self.builder_.add_func(function, name)
        return self._renamed[variable]

    def visit_call_(self, call: Any) -> Any:
        if as_semantic_call(call) is None:
            return super().visit_call_(call)
        operation, semantic, _, arguments = described(call, self._context.features, self._context.schedule)
        if call in self._joined:
            arguments = taken(call, self._joined[call], self._context)
        kernel = self._kernels[_key(operation, semantic)]
        added = self.builder_.add_func(kernel, str(kernel.attrs["global_symbol"]))
        results = list(call.ty.fields) if isinstance(call.ty, relax.TupleType) else call.ty
        return relax.call_tir(added, [self.visit_expr(a) for a in arguments], out_ty=results)
