"""What a pass may know besides the module."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kokoro_tvm.features import Features
from kokoro_tvm.ops.base.schedule import Choice

__all__ = ["LoweringContext"]


@dataclass(frozen=True)
class LoweringContext:
    """component: prefix of every function, so that modules can live together; target: a TVM Target;
    features: what its CPU has; weights: the parameters that are weights, by their names in the module;
    schedule: layer, as `SemanticOp.layer` names it, -> how to compute it; storage_step: memory is reserved
    for the next multiple of so many steps of the symbolic length."""

    component: str
    target: Any
    features: Features
    weights: frozenset[str]
    schedule: Mapping[str, Choice] = field(default_factory=dict)
    storage_step: int = 1
