"""Puts a kernel in the place of every semantic operation, and its packing on every weight that it wants
packed. Calls that share a launch take their weights as one.

Every function is named after the component, those made by legalising too, so that modules can live together.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from math import prod
from typing import Any

import tvm
from tvm import relax

from kokoro_tvm.errors import BuildError
from kokoro_tvm.ops.base.relax import SemanticCall
from kokoro_tvm.ops.base.semantic import PackedWeight
from kokoro_tvm.passes import LoweringContext

__all__ = ["IN_PLACE", "JOINED", "PACKINGS", "WORK", "apply"]

PACKINGS = "kokoro.packings"
"""Attribute of the component's function: JSON, weight name -> how it is packed."""

JOINED = "kokoro.joined"
"""Attribute of the component's function: JSON, parameter -> the weights that it joins, in order, each a pair
of its name and how it is packed, or null."""

WORK = "kokoro.work"

IN_PLACE = "kokoro.in_place"
"""Attribute of a kernel: JSON, the position of its result among its arguments, and those of the arguments
whose memory it may take."""


def apply(module: Any, context: LoweringContext) -> Any:
    """Rewrites the component's function. Raises BuildError for a call that there is no kernel for."""
    function = module[context.forward]
    calls: list[Any] = []
    relax.analysis.post_order_visit(
        function, lambda n: calls.append(n) if isinstance(n, relax.Call) else None
    )
    semantic_calls = {call: semantic for call in calls if (semantic := context.resolve(call)) is not None}
    # Errors are raised here and not inside a visitor, where TVM would turn them into its own.
    joined = _joined_weights(calls, semantic_calls, context)
    packings = _packings([call for call in calls if call not in joined], semantic_calls, context)
    kernels = _kernels(semantic_calls, context)
    selector = _Selector(module, context, semantic_calls, kernels, joined)
    apart = {weight for each in joined.values() for weight, _ in each.parts}
    parameters = []
    for parameter in function.params:
        packed = packings.get(parameter.name)
        if packed is not None:
            shape, dtype = packed.layout(tuple(int(extent) for extent in parameter.ty.shape))
            parameters.append(relax.Var(parameter.name, relax.TensorType(shape, dtype)))
            selector.set_var_remap(parameter, parameters[-1])
        elif parameter not in apart:
            parameters.append(parameter)
    parameters += [each.variable for each in joined.values()]
    body = selector.visit_expr(function.body)
    attributes = dict(function.attrs or {})
    layouts = {weight: packed.to_json() for weight, packed in packings.items()}
    attributes[PACKINGS] = json.dumps(layouts, sort_keys=True)
    if joined:
        parts = {each.variable.name: each.to_json() for each in joined.values()}
        attributes[JOINED] = json.dumps(parts, sort_keys=True)
    attributes = tvm.ir.make_node("ir.DictAttrs", **attributes)
    result = selector.builder_.get()
    result[context.forward] = relax.Function(parameters, body, function.ret_ty, function.is_pure, attributes)
    result = _with_table(result, context, kernels.values())
    for variable in result.get_global_vars():  # by now nothing calls a function by another name
        if not variable.name_hint.startswith(f"{context.component}_"):
            del result[variable]
    return result


def _packings(
    calls: Sequence[Any], semantic_calls: Mapping[Any, SemanticCall], context: LoweringContext
) -> dict[str, PackedWeight]:
    """How every weight must be packed; one weight, one packing."""
    packings: dict[str, PackedWeight] = {}
    plain: set[str] = set()
    for call in calls:
        if (semantic := semantic_calls.get(call)) is None:
            tuples = [a.fields for a in call.args if isinstance(a, relax.Tuple)]
            plain |= {a.name for a in chain(call.args, *tuples) if context.is_weight(a)}
            continue
        wanted, operation = semantic.packed, semantic.operation.name
        for tensor, argument in zip(semantic.tensors, semantic.arguments, strict=True):
            packed = wanted.get(tensor)
            if not context.is_weight(argument):
                if packed is not None:
                    raise BuildError(
                        f"{context.component}: {operation} wants its {tensor} packed at build time, but it "
                        "is computed"
                    )
            elif packed is None:
                plain.add(argument.name)
            elif (other := packings.setdefault(argument.name, packed)).name != packed.name:
                raise BuildError(
                    f"{context.component}: {argument.name} is wanted as {other.name} and as {packed.name}"
                )
    both = sorted(plain & set(packings))
    if both:
        raise BuildError(f"{context.component}: used both packed and as they are: {', '.join(both)}")
    return packings


def _kernels(semantic_calls: Mapping[Any, SemanticCall], context: LoweringContext) -> dict[Any, Any]:
    """The kernel of every semantic call; equal calls share one."""
    made: dict[str, Any] = {}
    chosen = {}
    for node, semantic in semantic_calls.items():
        operation, call = semantic.operation, semantic.call
        told_apart = call.shapes, call.attributes, call.result, call.moments, call.halves, call.members
        key = json.dumps([operation.name, *told_apart], sort_keys=True, default=str)
        if key not in made:
            name = f"{context.component}_{operation.name}_{len(made)}"
            made[key] = _kernel(semantic, context.component).with_attr("global_symbol", name)
        chosen[node] = made[key]
    return chosen


def _kernel(semantic: SemanticCall, component: str) -> Any:
    """With what is to be known of it, as attributes."""
    operation, call = semantic.operation, semantic.call
    try:
        kernel = operation.kernel(call)
    except NotImplementedError as error:
        raise BuildError(f"{component}: {error}") from error
    results = call.members * (1 if call.moments is None else 2)
    work: dict[str, Any] = {"operation": operation.name, "results": results}
    if operation.flops is not None:
        work["flops_per_step"] = operation.flops(call)
    kernel = kernel.with_attr(WORK, json.dumps(work))
    if over := semantic.kernel.in_place(call) & set(semantic.tensors):
        places = {"result": len(semantic.tensors), "over": sorted(map(semantic.tensors.index, over))}
        kernel = kernel.with_attr(IN_PLACE, json.dumps(places))
    return kernel


def _with_table(module: Any, context: LoweringContext, kernels: Iterable[Any]) -> Any:
    """Adds `<component>_kernels()`: JSON, kernel -> its operation and, where they count, FLOPs per step of
    the result."""
    table = {str(kernel.attrs["global_symbol"]): json.loads(str(kernel.attrs[WORK])) for kernel in kernels}
    builder = relax.BlockBuilder(module)
    with builder.function(f"{context.component}_kernels", []):
        builder.emit_func_output(tvm.ir.StringImm(json.dumps(table, sort_keys=True)))
    return builder.get()


@dataclass(frozen=True)
class _Joined:
    """Weights of calls that share a launch, as one parameter of the component.

    variable: the parameter, float32 and flat; parts: the weights' variables, each with its packing."""

    variable: Any
    parts: tuple[tuple[Any, PackedWeight | None], ...]

    def to_json(self) -> list[tuple[str, dict[str, Any] | None]]:
        return [(weight.name, packed.to_json() if packed else None) for weight, packed in self.parts]


def _joined_weights(
    calls: Sequence[Any], semantic_calls: Mapping[Any, SemanticCall], context: LoweringContext
) -> dict[Any, _Joined]:
    """What the weights of every semantic call of several members become.

    Raises BuildError for a weight that is used in another place too."""
    joined = {}
    for call, semantic in semantic_calls.items():
        if semantic.call.members > 1:
            assert semantic.kernel.sharing is not None
            packed, names = semantic.packed, semantic.kernel.sharing.joined
            weights = zip(semantic.tensors, semantic.arguments, strict=True)
            parts = [(weight, packed.get(name)) for name, weight in weights if name in names]
            joined[call] = _Joined(_variable(parts), tuple(parts))
    counted = Counter(v for call in calls for a in call.args for v in relax.analysis.free_vars(a))
    members = {weight for each in joined.values() for weight, _ in each.parts}
    if twice := sorted(weight.name for weight in members if counted[weight] > 1):
        raise BuildError(
            f"{context.component}: used by a launch that calls share, and elsewhere too: {', '.join(twice)}"
        )
    return joined


def _variable(parts: Sequence[tuple[Any, PackedWeight | None]]) -> Any:
    elements = 0
    for weight, packed in parts:
        shape = tuple(int(extent) for extent in weight.ty.shape)
        elements += prod(packed.layout(shape)[0] if packed is not None else shape)
    return relax.Var(f"{parts[0][0].name}_joined", relax.TensorType([elements], "float32"))


def _taken(semantic: SemanticCall, joined: _Joined) -> list[Any]:
    """What the kernel for a call of several members takes, see `LaunchSharing`."""
    sharing, by_name = semantic.kernel.sharing, semantic.by_name
    assert sharing is not None
    own = [a for name, a in zip(semantic.tensors, semantic.arguments, strict=True) if name in sharing.own]
    return [*own, *(by_name[name] for name in sharing.common), joined.variable]


@relax.expr_functor.mutator
class _Selector(relax.PyExprMutator):
    """Replaces semantic calls, and renames what other calls call."""

    def __init__(
        self,
        module: Any,
        context: LoweringContext,
        semantic_calls: Mapping[Any, SemanticCall],
        kernels: Mapping[Any, Any],
        joined: Mapping[Any, _Joined],
    ) -> None:
        super().__init__(module)
        self._module, self._context = module, context
        self._semantic_calls, self._kernels, self._joined = semantic_calls, kernels, joined
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
        if (semantic := self._semantic_calls.get(call)) is None:
            return super().visit_call_(call)
        kernel, arguments = self._kernels[call], semantic.arguments
        if call in self._joined:
            arguments = _taken(semantic, self._joined[call])
        added = self.builder_.add_func(kernel, str(kernel.attrs["global_symbol"]))
        results = list(call.ty.fields) if isinstance(call.ty, relax.TupleType) else call.ty
        return relax.call_tir(added, [self.visit_expr(a) for a in arguments], out_ty=results)
