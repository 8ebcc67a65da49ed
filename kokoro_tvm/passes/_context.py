"""What a pass may know besides the module."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kokoro_tvm.ops._features import Features

__all__ = ["LoweringContext"]


@dataclass(frozen=True)
class LoweringContext:
    """component: prefix of every function, so that modules can live together; target: a TVM Target;
    features: what its CPU has; weights: the parameters that are weights, by their names in the module."""

    component: str
    target: Any
    features: Features
    weights: frozenset[str]
