"""Pass: replace every semantic call by a kernel and every weight by its packed form.

The weights of calls that share a launch are joined to one parameter. Every function gets the component's name
as a prefix, those from legalize included, so that modules can be linked together.
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

from kokoro_tvm.common.errors import BuildError
from kokoro_tvm.compiler.passes import LoweringContext
from kokoro_tvm.kernels.base.relax import SemanticCall
from kokoro_tvm.kernels.base.semantic import PackedWeight

PACKINGS = "kokoro.packings"
"""Attribute of the component's function: JSON, weight name -> its packing."""

JOINED = "kokoro.joined"
"""Attribute of the component's function: JSON, parameter -> the weights that it joins, in order, as pairs of
name and packing (or null)."""

WORK = "kokoro.work"
"""Attribute of a kernel: JSON, its operation, number of results and, if counted, FLOPs per step."""

IN_PLACE = "kokoro.in_place"
"""Attribute of a kernel: JSON, the position of its result among its arguments, and the positions of the
arguments whose memory the result may reuse."""


def apply(module: Any, context: LoweringContext) -> Any:
    """Select the kernels of the component's function.

    Raises:
        BuildError: No kernel exists for a call.
    """
    function = module[context.forward]
    calls: list[Any] = []
    relax.analysis.post_order_visit(
        function, lambda n: calls.append(n) if isinstance(n, relax.Call) else None
    )
    semantic_calls = {call: semantic for call in calls if (semantic := context.resolve(call)) is not None}
    # TVM turns errors raised inside a mutator into its own, so they are raised here.
    joined = _declare_joined_weights(calls, semantic_calls, context)
    packings = _collect_packings([call for call in calls if call not in joined], semantic_calls, context)
    kernels = _build_kernels(semantic_calls, context)
    selector = _Selector(module, context, semantic_calls, kernels, joined)
    joined_parts = {weight for group in joined.values() for weight, _ in group.parts}
    parameters = []
    for parameter in function.params:
        packed = packings.get(parameter.name)
        if packed is not None:
            shape, dtype = packed.layout(tuple(int(extent) for extent in parameter.ty.shape))
            parameters.append(relax.Var(parameter.name, relax.TensorType(shape, dtype)))
            selector.set_var_remap(parameter, parameters[-1])
        elif parameter not in joined_parts:
            parameters.append(parameter)
    parameters += [group.variable for group in joined.values()]
    body = selector.visit_expr(function.body)
    attributes = dict(function.attrs or {})
    layouts = {weight: packed.to_json() for weight, packed in packings.items()}
    attributes[PACKINGS] = json.dumps(layouts, sort_keys=True)
    if joined:
        parts = {group.variable.name: group.to_json() for group in joined.values()}
        attributes[JOINED] = json.dumps(parts, sort_keys=True)
    attributes = tvm.ir.make_node("ir.DictAttrs", **attributes)
    result = selector.builder_.get()
    result[context.forward] = relax.Function(parameters, body, function.ret_ty, function.is_pure, attributes)
    result = _add_table(result, context, kernels.values())
    for variable in result.get_global_vars():  # nothing calls the old names any more
        if not variable.name_hint.startswith(f"{context.component}_"):
            del result[variable]
    return result


def _collect_packings(
    calls: Sequence[Any], semantic_calls: Mapping[Any, SemanticCall], context: LoweringContext
) -> dict[str, PackedWeight]:
    """Return how each weight must be packed; a weight has one packing.

    Raises:
        BuildError: Calls disagree about a weight, or a packed argument is no weight.
    """
    packings: dict[str, PackedWeight] = {}
    plain: set[str] = set()
    for call in calls:
        if (semantic := semantic_calls.get(call)) is None:
            tuples = [a.fields for a in call.args if isinstance(a, relax.Tuple)]
            plain |= {a.name for a in chain(call.args, *tuples) if context.is_weight(a)}
            continue
        packings_of_call, operation = semantic.packed, semantic.operation.name
        for tensor, argument in zip(semantic.tensors, semantic.arguments, strict=True):
            packed = packings_of_call.get(tensor)
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
                    f"{context.component}: {argument.name} is needed as {other.name} and as {packed.name}"
                )
    conflicts = sorted(plain & set(packings))
    if conflicts:
        raise BuildError(f"{context.component}: used both packed and as they are: {', '.join(conflicts)}")
    return packings


def _build_kernels(semantic_calls: Mapping[Any, SemanticCall], context: LoweringContext) -> dict[Any, Any]:
    """Build the kernel of every semantic call; equal calls share one."""
    by_key: dict[str, Any] = {}
    kernels = {}
    for node, semantic in semantic_calls.items():
        operation, call = semantic.operation, semantic.call
        identity = call.shapes, call.attributes, call.result, call.moments, call.halves, call.members
        key = json.dumps([operation.name, *identity], sort_keys=True, default=str)
        if key not in by_key:
            name = f"{context.component}_{operation.name}_{len(by_key)}"
            by_key[key] = _build_kernel(semantic, context.component).with_attr("global_symbol", name)
        kernels[node] = by_key[key]
    return kernels


def _build_kernel(semantic: SemanticCall, component: str) -> Any:
    """Build a call's kernel and attach its work and in-place arguments as attributes.

    Raises BuildError if there is none.
    """
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


def _add_table(module: Any, context: LoweringContext, kernels: Iterable[Any]) -> Any:
    """Add `<component>_kernels()`, which returns each kernel's WORK as JSON."""
    table = {str(kernel.attrs["global_symbol"]): json.loads(str(kernel.attrs[WORK])) for kernel in kernels}
    builder = relax.BlockBuilder(module)
    with builder.function(f"{context.component}_kernels", []):
        builder.emit_func_output(tvm.ir.StringImm(json.dumps(table, sort_keys=True)))
    return builder.get()


@dataclass(frozen=True)
class _JoinedWeights:
    """Weights of calls that share a launch, as one parameter of the component.

    Attributes:
        variable: The parameter, float32 and flat.
        parts: Variable and packing of each weight.
    """

    variable: Any
    parts: tuple[tuple[Any, PackedWeight | None], ...]

    def to_json(self) -> list[tuple[str, dict[str, Any] | None]]:
        """Return name and packing of each weight."""
        return [(weight.name, packed.to_json() if packed else None) for weight, packed in self.parts]


def _declare_joined_weights(
    calls: Sequence[Any], semantic_calls: Mapping[Any, SemanticCall], context: LoweringContext
) -> dict[Any, _JoinedWeights]:
    """Declare one parameter for the weights of each call of several members; packing joins the data.

    Raises:
        BuildError: Another call uses such a weight, too.
    """
    joined = {}
    for call, semantic in semantic_calls.items():
        if semantic.call.members > 1:
            assert semantic.kernel.sharing is not None
            packed, names = semantic.packed, semantic.kernel.sharing.joined
            weights = zip(semantic.tensors, semantic.arguments, strict=True)
            parts = [(weight, packed.get(name)) for name, weight in weights if name in names]
            joined[call] = _JoinedWeights(_make_joined_parameter(parts), tuple(parts))
    counted = Counter(v for call in calls for a in call.args for v in relax.analysis.free_vars(a))
    members = {weight for group in joined.values() for weight, _ in group.parts}
    if reused := sorted(weight.name for weight in members if counted[weight] > 1):
        raise BuildError(
            f"{context.component}: used by a launch that calls share, and elsewhere too: {', '.join(reused)}"
        )
    return joined


def _make_joined_parameter(parts: Sequence[tuple[Any, PackedWeight | None]]) -> Any:
    """Return the parameter of joined weights."""
    elements = 0
    for weight, packed in parts:
        shape = tuple(int(extent) for extent in weight.ty.shape)
        elements += prod(packed.layout(shape)[0] if packed is not None else shape)
    return relax.Var(f"{parts[0][0].name}_joined", relax.TensorType([elements], "float32"))


def _shared_arguments(semantic: SemanticCall, joined: _JoinedWeights) -> list[Any]:
    """Return the arguments of a shared kernel: those of each member, the common ones, the joined weights."""
    sharing, by_name = semantic.kernel.sharing, semantic.by_name
    assert sharing is not None
    own = [a for name, a in zip(semantic.tensors, semantic.arguments, strict=True) if name in sharing.own]
    return [*own, *(by_name[name] for name in sharing.common), joined.variable]


@relax.expr_functor.mutator
class _Selector(relax.PyExprMutator):
    """Mutator that replaces semantic calls and renames the functions that other calls call."""

    def __init__(
        self,
        module: Any,
        context: LoweringContext,
        semantic_calls: Mapping[Any, SemanticCall],
        kernels: Mapping[Any, Any],
        joined: Mapping[Any, _JoinedWeights],
    ) -> None:
        super().__init__(module)
        self._module, self._context = module, context
        self._semantic_calls, self._kernels, self._joined = semantic_calls, kernels, joined
        self._renamed: dict[Any, Any] = {}

    def visit_global_var_(self, variable: Any) -> Any:
        """Prefix the name of a function with the component's, so that names are unique in a library."""
        prefix = f"{self._context.component}_"
        if variable.name_hint.startswith(prefix):
            return variable
        if variable not in self._renamed:
            name = prefix + variable.name_hint
            function = self._module[variable].with_attr("global_symbol", name)
            self._renamed[variable] = self.builder_.add_func(function, name)
        return self._renamed[variable]

    def visit_call_(self, call: Any) -> Any:
        """Replace a semantic call by a call of its kernel."""
        if (semantic := self._semantic_calls.get(call)) is None:
            return super().visit_call_(call)
        kernel, arguments = self._kernels[call], semantic.arguments
        if call in self._joined:
            arguments = _shared_arguments(semantic, self._joined[call])
        added = self.builder_.add_func(kernel, str(kernel.attrs["global_symbol"]))
        results = list(call.ty.fields) if isinstance(call.ty, relax.TupleType) else call.ty
        return relax.call_tir(added, [self.visit_expr(a) for a in arguments], out_ty=results)
