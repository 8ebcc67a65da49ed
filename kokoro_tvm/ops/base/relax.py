"""Semantic operations inside Relax: calls by name, whose last argument says which tensors and attributes they
have."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import tvm
from tvm import relax
from tvm.sym import Analyzer

from kokoro_tvm.features import Features
from kokoro_tvm.ops.base.schedule import Choice
from kokoro_tvm.ops.base.semantic import Call, SemanticOp, registry

__all__ = ["as_semantic_call", "converters", "described", "names_for", "semantic_call", "shared_call"]

_PREFIX = "kokoro."


def converters() -> Mapping[str, Callable[..., Any]]:
    """For `from_exported_program`: how every registered operation is translated."""
    return {f"{name}.default": _converter(operation) for name, operation in registry().items()}


def as_semantic_call(call: Any) -> tuple[str, list[str], dict[str, Any], list[Any]] | None:
    """(operation, names of the present tensors, attributes, tensors) of a semantic call; None for any
    other. Of calls that share a launch the names and the tensors are those of all members, in turn."""
    if not isinstance(call.op, tvm.ir.Op) or call.op.name != "relax.call_dps_packed":
        return None
    function, arguments = call.args[:2]
    if not function.global_symbol.startswith(_PREFIX):
        return None
    *tensors, description = arguments
    data = json.loads(description.value)
    names = data["tensors"] * data.get("members", 1)
    return function.global_symbol.removeprefix(_PREFIX), names, data["attributes"], tensors


def described(
    call: Any, features: Features, schedule: Mapping[str, Choice]
) -> tuple[str, Call, list[str], list[Any]]:
    """(operation, the Call for its kernel, names of the present tensors, tensors) of a semantic call, as
    `as_semantic_call` has them."""
    found = as_semantic_call(call)
    if found is None:
        raise TypeError(f"{call.op} is no semantic call")
    operation, tensors, attributes, arguments = found
    members = json.loads(call.args[1][-1].value).get("members", 1)
    first = dict(zip(tensors, arguments[: len(arguments) // members], strict=False))
    shapes = {name: names_for(name, tensor.ty.shape) for name, tensor in first.items()}
    results = call.ty.fields if isinstance(call.ty, relax.TupleType) else [call.ty]
    written = results if members == 1 else results[:1]
    result, *others = (names_for(n, r.shape) for n, r in zip(("y", "moments"), written, strict=False))
    kinds = {**{name: tensor.ty for name, tensor in first.items()}, "y": results[0]}
    halves = tuple(name for name, kind in kinds.items() if str(kind.dtype) == "float16")
    left = others[0] if others else None
    semantic = Call(shapes, attributes, result, features, left, halves=halves, members=members)
    layer = registry()[operation].layer(semantic)
    choice = schedule.get(layer) if layer is not None else None
    return operation, replace(semantic, choice=choice), tensors, arguments


def semantic_call(name: str, tensors: Mapping[str, Any], attributes: Mapping[str, Any]) -> Any:
    """A call of an operation on its present tensors, by name, with all its attributes."""
    operation = registry()[name]
    shapes = {t: tuple(tensors[t].ty.shape) if t in tensors else None for t in operation.tensors}
    extents = [_simplified(extent) for extent in operation.shape(**shapes, **attributes)]
    description = json.dumps({"tensors": list(tensors), "attributes": attributes}, sort_keys=True)
    return relax.call_dps_packed(
        relax.ExternFunc(_PREFIX + name),
        relax.Tuple([*tensors.values(), tvm.ir.StringImm(description)]),
        relax.TensorType(extents, next(iter(tensors.values())).ty.dtype),
    )


def shared_call(calls: Sequence[Any]) -> Any:
    """One call in the place of several of an operation, which have one result each: a tuple of theirs."""
    *_, description = calls[0].args[1]
    shared = json.loads(description.value) | {"members": len(calls)}
    tensors = [tensor for call in calls for tensor in list(call.args[1])[:-1]]
    return relax.call_dps_packed(
        calls[0].args[0],
        relax.Tuple([*tensors, tvm.ir.StringImm(json.dumps(shared, sort_keys=True))]),
        [call.ty for call in calls],
    )


def names_for(tensor: str, shape: Any) -> tuple[int | str, ...]:
    """A Relax shape with a name (`tensor`_axis) in place of each extent that is not a number."""
    return tuple(
        int(extent) if isinstance(extent, tvm.tirx.IntImm) else f"{tensor}_{axis}"
        for axis, extent in enumerate(shape)
    )


def _converter(operation: SemanticOp) -> Callable[..., Any]:
    def convert(node: Any, importer: Any) -> Any:
        schema = node.target._schema
        if schema.name != f"kokoro::{operation.name}":
            raise TypeError(
                f"{schema.name} is not kokoro::{operation.name}: the model kept a layer no patch replaced"
            )
        given = dict(zip((a.name for a in schema.arguments), node.args, strict=False)) | dict(node.kwargs)
        values = {a.name: given.get(a.name, a.default_value) for a in schema.arguments}
        tensors = {t: importer.env[values[t]] for t in operation.tensors if values[t] is not None}
        attributes = {a: values[a] for a in operation.attributes}
        return importer.block_builder.emit(semantic_call(operation.name, tensors, attributes))

    return convert


def _simplified(extent: Any) -> Any:
    return extent if isinstance(extent, int) else Analyzer().simplify(extent)
