"""Semantic operations inside Relax: calls by name whose last argument describes tensors and attributes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import tvm
from tvm import relax
from tvm.sym import Analyzer

from kokoro_tvm.common.features import Features
from kokoro_tvm.kernels.base.schedule import ConvChoice
from kokoro_tvm.kernels.base.semantic import OpCall, OpImplementation, PackedWeight, SemanticOp, registry

_PREFIX = "kokoro."


def converters() -> Mapping[str, Callable[..., Any]]:
    """Return the converter of every registered operation, as `from_exported_program` takes them."""
    return {f"{name}.default": _make_converter(operation) for name, operation in registry().items()}


@dataclass(frozen=True)
class SemanticCall:
    """A semantic call of a Relax function, resolved for a machine.

    Attributes:
        operation: The operation that is called.
        kernel: Its implementation for the machine.
        call: The call as the implementation sees it.
        tensors: Names of the present tensors; those of all members in turn if calls share a launch.
        arguments: The Relax expressions of `tensors`.
    """

    operation: SemanticOp
    kernel: OpImplementation
    call: OpCall
    tensors: list[str]
    arguments: list[Any]

    @property
    def by_name(self) -> dict[str, Any]:
        """Arguments by tensor name; if members share a launch, the last member's."""
        return dict(zip(self.tensors, self.arguments, strict=True))

    @property
    def packed(self) -> dict[str, PackedWeight]:
        """Packing of each weight that the kernel takes packed, by tensor name."""
        packings = self.kernel.packings(self.call).items()
        return {n: PackedWeight(self.operation.name, n, self.call, p.name) for n, p in packings}


def resolve_call(call: Any, features: Features, schedule: Mapping[str, ConvChoice]) -> SemanticCall | None:
    """Resolve a semantic call for a machine.

    Args:
        call: Any Relax expression.
        features: Features of the machine.
        schedule: Layer key, see `OpImplementation.layer`, to a tuned choice.

    Returns:
        The resolved call, or None for every other expression.
    """
    if not (isinstance(call, relax.Call) and isinstance(call.op, tvm.ir.Op)):
        return None
    if call.op.name != "relax.call_dps_packed" or not call.args[0].global_symbol.startswith(_PREFIX):
        return None
    operation = registry()[call.args[0].global_symbol.removeprefix(_PREFIX)]
    *arguments, description = call.args[1]
    data = json.loads(description.value)
    members = data.get("members", 1)
    first = dict(zip(data["tensors"], arguments, strict=False))
    shapes = {name: name_extents(name, tensor.ty.shape) for name, tensor in first.items()}
    results = call.ty.fields if isinstance(call.ty, relax.TupleType) else [call.ty]
    written = results if members == 1 else results[:1]
    result, *others = (name_extents(n, r.shape) for n, r in zip(("y", "moments"), written, strict=False))
    kinds = {**{name: tensor.ty for name, tensor in first.items()}, "y": results[0]}
    halves = tuple(name for name, kind in kinds.items() if str(kind.dtype) == "float16")
    moments = others[0] if others else None
    semantic = OpCall(shapes, data["attributes"], result, features, moments, halves=halves, members=members)
    kernel = operation.kernel_for(features)
    layer = kernel.layer(semantic)
    choice = schedule.get(layer) if layer is not None else None
    return SemanticCall(
        operation, kernel, replace(semantic, choice=choice), data["tensors"] * members, arguments
    )


def semantic_call(name: str, tensors: Mapping[str, Any], attributes: Mapping[str, Any]) -> Any:
    """Build a call of an operation.

    Args:
        name: Name of the operation.
        tensors: Present tensors by name.
        attributes: All attributes of the operation by name.
    """
    operation = registry()[name]
    shapes = {t: tuple(tensors[t].ty.shape) if t in tensors else None for t in operation.tensors}
    extents = [_simplify(extent) for extent in operation.shape(**shapes, **attributes)]
    description = json.dumps({"tensors": list(tensors), "attributes": attributes}, sort_keys=True)
    return relax.call_dps_packed(
        relax.ExternFunc(_PREFIX + name),
        relax.Tuple([*tensors.values(), tvm.ir.StringImm(description)]),
        relax.TensorType(extents, next(iter(tensors.values())).ty.dtype),
    )


def call_with(call: Any, tensors: Iterable[Any], results: Any, **described: Any) -> Any:
    """Rebuild a semantic call with other tensors and result types.

    Args:
        call: The call to copy.
        tensors: Relax expressions of the new call.
        results: Its type, or the types of its results.
        described: Entries to add to its description.
    """
    *_, description = call.args[1]
    text = json.dumps(json.loads(description.value) | described, sort_keys=True)
    return relax.call_dps_packed(call.args[0], relax.Tuple([*tensors, tvm.ir.StringImm(text)]), results)


def shared_call(calls: Sequence[Any]) -> Any:
    """Merge calls of an operation that have one result each into one call with a tuple of results."""
    tensors = [tensor for call in calls for tensor in list(call.args[1])[:-1]]
    return call_with(calls[0], tensors, [call.ty for call in calls], members=len(calls))


def name_extents(tensor: str, shape: Any) -> tuple[int | str, ...]:
    """Replace every symbolic extent of a Relax shape by a name, `tensor`_axis."""
    return tuple(
        int(extent) if isinstance(extent, tvm.tirx.IntImm) else f"{tensor}_{axis}"
        for axis, extent in enumerate(shape)
    )


def _make_converter(operation: SemanticOp) -> Callable[..., Any]:
    """Return the function that converts an operation's node of the exported graph."""

    def convert(node: Any, importer: Any) -> Any:
        """Emit a semantic call for a node. Raises TypeError for a node of another operation."""
        schema = node.target._schema
        if schema.name != f"kokoro::{operation.name}":
            raise TypeError(
                f"{schema.name} is not kokoro::{operation.name}: the model kept a layer no patch replaced"
            )
        by_name = dict(zip((a.name for a in schema.arguments), node.args, strict=False)) | dict(node.kwargs)
        values = {a.name: by_name.get(a.name, a.default_value) for a in schema.arguments}
        tensors = {t: importer.env[values[t]] for t in operation.tensors if values[t] is not None}
        attributes = {a: values[a] for a in operation.attributes}
        return importer.block_builder.emit(semantic_call(operation.name, tensors, attributes))

    return convert


def _simplify(extent: Any) -> Any:
    """Simplify a symbolic extent."""
    return extent if isinstance(extent, int) else Analyzer().simplify(extent)
