"""Activation of a convolution's input, on vectors: see `kernels.base.semantic.activate`."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from kokoro_tvm.kernels.base import math as _math
from kokoro_tvm.kernels.base.expressions import const, select
from kokoro_tvm.kernels.cpu.kernel import CpuKernel


class Activation:
    """Normalization and activation of a convolution's input.

    Args of the constructor: buffers norm (3, C) and alpha (C,), or None; the slope of the leaky ReLU; whether
    the result is rounded, so that a few bits of it do not matter.
    """

    def __init__(self, norm: Any | None, alpha: Any | None, slope: float, rounded: bool = False) -> None:
        self._norm, self._alpha, self._slope, self._rounded = norm, alpha, slope, rounded

    def channels(self, k: CpuKernel, c: Any, lanes: int) -> Callable[[Any], Any]:
        """Read the coefficients of `lanes` channels from `c` on; return the activation of a vector."""
        norm, alpha, slope = self._norm, self._alpha, self._slope
        kind = _math.dtype(lanes)
        coefficients = (
            [k.let(k.load(norm, i, c, lanes=lanes)) for i in range(3)] if norm is not None else None
        )
        a = k.let(k.load(alpha, c, lanes=lanes)) if alpha is not None else None
        inverse = k.let(const(1.0, kind) / a) if a is not None else None
        half_turns = k.let(a * const(1 / math.pi, kind)) if a is not None and self._rounded else None

        def apply(value: Any) -> Any:
            if coefficients is not None:
                mean, scale, shift = coefficients
                value = k.let((value - mean) * scale + shift)
            if half_turns is not None:
                return value + _math.sin_squared_of_half_turns(k, k.let(half_turns * value)) * inverse
            if a is not None:
                return value + _math.sin_squared(k, a * value) * inverse
            if slope != 1.0:
                return select(value > const(0.0, kind), value, value * const(slope, kind))
            return value

        return apply
