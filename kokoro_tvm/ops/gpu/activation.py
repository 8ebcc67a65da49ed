"""The activation that precedes a convolution, value by value: see `ops.base.activation`."""

from __future__ import annotations

from typing import Any

from kokoro_tvm.ops.base import math as _math
from kokoro_tvm.ops.base.expressions import const, select
from kokoro_tvm.ops.gpu.kernel import GpuKernel

__all__ = ["activated"]


def activated(k: GpuKernel, value: Any, c: Any, norm: Any | None, alpha: Any | None, slope: float) -> Any:
    """The activation of a value of channel `c`. norm (3, C), alpha (C,): buffers, where there are any."""
    if norm is not None:
        value = k.let((value - norm[0, c]) * norm[1, c] + norm[2, c])
    if alpha is not None:
        a = k.let(alpha[c])
        return k.let(value + _math.sin_squared(k, a * value) / a)
    if slope != 1.0:
        return select(value > const(0.0, "float32"), value, value * const(slope, "float32"))
    return value
