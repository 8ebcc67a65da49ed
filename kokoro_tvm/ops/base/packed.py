"""A weight's packing as data, so that weights can be packed long after, and far from, the lowering that chose
it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from kokoro_tvm.features import Features
from kokoro_tvm.ops.base.schedule import Choice
from kokoro_tvm.ops.base.semantic import Call, Packing, registry

__all__ = ["PackedWeight"]


@dataclass(frozen=True)
class PackedWeight:
    """The packing that `operation` wants for its `argument` when called as `call`; `name` tells packings
    apart."""

    operation: str
    argument: str
    call: Call
    name: str

    @property
    def packing(self) -> Packing:
        return registry()[self.operation].packings(self.call)[self.argument]

    def pack(self, array: np.ndarray) -> np.ndarray:
        """float32 array in the kernel's layout and dtype."""
        return self.packing.pack(array)

    def layout(self, shape: tuple[int, ...]) -> tuple[tuple[int, ...], str]:
        """The packed shape and dtype of an array of this shape."""
        packed = self.pack(np.zeros(shape, np.float32))
        return packed.shape, str(packed.dtype)

    def to_json(self) -> dict[str, Any]:
        call = asdict(self.call) | {"features": self.call.features.to_json()}
        if not self.call.halves:  # so that a new ability changes no other's keys
            del call["halves"]
        if self.call.members == 1:
            del call["members"]
        return {"operation": self.operation, "argument": self.argument, "name": self.name, "call": call}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> PackedWeight:
        call = data["call"]
        shapes = {name: tuple(shape) for name, shape in call["shapes"].items()}
        moments = tuple(call["moments"]) if call["moments"] is not None else None
        choice = Choice(**call["choice"]) if call["choice"] is not None else None
        described = Call(
            shapes,
            call["attributes"],
            tuple(call["result"]),
            Features.from_json(call["features"]),
            moments,
            choice,
            tuple(call.get("halves", ())),
            call.get("members", 1),
        )
        return cls(data["operation"], data["argument"], described, data["name"])
