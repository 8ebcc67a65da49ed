"""What memory holds a convolution's packed weight as."""

from __future__ import annotations

import numpy as np

from kokoro_tvm.errors import BuildError
from kokoro_tvm.ops.base.semantic import Call

__all__ = ["held_as", "weight_dtype"]


def weight_dtype(call: Call) -> str:
    """float16 where the recipe asks for it and the layer tolerates it."""
    return "float16" if call.features.precision == "float16" and call.attributes["tolerant"] else "float32"


def held_as(dtype: str, weight: np.ndarray) -> np.ndarray:
    """A weight as memory holds it. Raises BuildError for one that the dtype does not hold."""
    if (largest := np.abs(weight).max(initial=0.0)) > np.finfo(dtype).max:
        raise BuildError(f"{dtype} does not hold a weight of {largest}: use a recipe of precision float32")
    return np.ascontiguousarray(weight, dtype)
