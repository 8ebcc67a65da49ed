"""Weights of calls that share a launch: one parameter of the component, flat, in the place of them all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from tvm import relax

from kokoro_tvm.errors import BuildError
from kokoro_tvm.ops.base.packed import PackedWeight
from kokoro_tvm.ops.base.relax import as_semantic_call, described
from kokoro_tvm.ops.base.semantic import Call, registry
from kokoro_tvm.passes.base.context import LoweringContext

__all__ = ["JOINED", "Joined", "joined_weights", "taken"]

JOINED = "kokoro.joined"
"""Attribute of the component's function: JSON, parameter -> the weights that it joins, in order, each a pair
of its name and how it is packed, or null."""


@dataclass(frozen=True)
class Joined:
    """variable: the parameter, float32 and flat; parts: the weights' variables, each with its packing."""

    variable: Any
    parts: tuple[tuple[Any, PackedWeight | None], ...]

    @classmethod
    def of(cls, parts: Sequence[tuple[Any, PackedWeight | None]]) -> Joined:
        elements = 0
        for weight, packed in parts:
            shape = tuple(int(extent) for extent in weight.ty.shape)
            elements += prod(packed.layout(shape)[0] if packed is not None else shape)
        name = f"{parts[0][0].name}_joined"
        return cls(relax.Var(name, relax.TensorType([elements], "float32")), tuple(parts))

    def to_json(self) -> list[tuple[str, dict[str, Any] | None]]:
        return [(weight.name, packed.to_json() if packed else None) for weight, packed in self.parts]


def joined_weights(calls: Sequence[Any], context: LoweringContext) -> dict[Any, Joined]:
    """What the weights of every semantic call of several members become.

    Raises BuildError for a weight that is used in another place too."""
    joined = {}
    for call in calls:
        if as_semantic_call(call) is None:
            continue
        operation, semantic, tensors, arguments = described(call, context.features, context.schedule)
        if semantic.members > 1:
            wanted = registry()[operation].packings(semantic)
            names = registry()[operation].sharing(context.features).joined  # type: ignore[union-attr]
            joined[call] = Joined.of(
                [
                    (weight, _packed(operation, name, semantic, wanted))
                    for name, weight in zip(tensors, arguments, strict=True)
                    if name in names
                ]
            )
    uses = Counter(v for call in calls for a in call.args for v in relax.analysis.free_vars(a))
    parts = {weight for each in joined.values() for weight, _ in each.parts}
    if twice := sorted(weight.name for weight in parts if uses[weight] > 1):
        raise BuildError(
            f"{context.component}: used by a launch that calls share, and elsewhere too: {', '.join(twice)}"
        )
    return joined


def _packed(operation: str, name: str, call: Call, wanted: Mapping[str, Any]) -> PackedWeight | None:
    return PackedWeight(operation, name, call, wanted[name].name) if name in wanted else None


def taken(call: Any, joined: Joined, context: LoweringContext) -> list[Any]:
    """What the kernel for a call of several members takes, see `Sharing`."""
    operation, _, tensors, arguments = described(call, context.features, context.schedule)
    sharing = registry()[operation].sharing(context.features)
    assert sharing is not None
    own = [a for name, a in zip(tensors, arguments, strict=True) if name in sharing.own]
    given = dict(zip(tensors, arguments, strict=True))
    return [*own, *(given[name] for name in sharing.common), joined.variable]
