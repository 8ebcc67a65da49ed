"""A convolution over time as the kernels for GPUs compute it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from kokoro_tvm.errors import BuildError
from kokoro_tvm.ops.base.expressions import const, select
from kokoro_tvm.ops.base.math import sin_squared
from kokoro_tvm.ops.base.semantic import OpCall
from kokoro_tvm.ops.gpu.kernel import GpuKernel

__all__ = ["ConvLayer", "activate_value", "cast_weight", "select_weight_dtype"]


@dataclass(frozen=True)
class ConvLayer:
    """For each step t and output o the sum over taps j and channels c of read(t + j*dilation, c) *
    weight[j, c, o].

    weight: as the kernel's tile packs it; steps: of the result; needed: how many of them are wanted, known
    only on the GPU: tiles beyond are left out; read(row, channel): an activated value of the input, zero
    where there is none, with rows up to the end of the last tile and its halo, and channels of [0, channels);
    write(step, output, sum): called for results that are wanted, gives what it wrote; moments: of the
    results, where they are to be written: then outputs are whole tiles.
    """

    weight: Any
    channels: int
    taps: int
    dilation: int
    steps: Any
    needed: Any
    outputs: int
    read: Callable[[Any, Any], Any]
    write: Callable[[Any, Any, Any], Any]
    moments: Any | None = None


def activate_value(
    k: GpuKernel, value: Any, c: Any, norm: Any | None, alpha: Any | None, slope: float
) -> Any:
    """The activation of a value of channel `c`, see `ops.base.semantic.activate`; norm (3, C), alpha (C,):
    buffers, where there are any."""
    if norm is not None:
        value = k.let((value - norm[0, c]) * norm[1, c] + norm[2, c])
    if alpha is not None:
        a = k.let(alpha[c])
        return k.let(value + sin_squared(k, a * value) / a)
    if slope != 1.0:
        return select(value > const(0.0, "float32"), value, value * const(slope, "float32"))
    return value


def select_weight_dtype(call: OpCall) -> str:
    """Of a packed weight in memory: float16 where the recipe asks for it and the layer tolerates it."""
    return "float16" if call.features.precision == "float16" and call.attributes["tolerant"] else "float32"


def cast_weight(dtype: str, weight: np.ndarray) -> np.ndarray:
    """A weight as memory holds it. Raises BuildError for one that the dtype does not hold."""
    if (largest := np.abs(weight).max(initial=0.0)) > np.finfo(dtype).max:
        raise BuildError(f"{dtype} does not hold a weight of {largest}: use a recipe of precision float32")
    return np.ascontiguousarray(weight, dtype)
