"""The activation that precedes a convolution: adaptive instance normalisation, then Snake or leaky ReLU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from kokoro_tvm.ops import _math
from kokoro_tvm.ops._kernel import Kernel, const, select

__all__ = ["Activation", "activate"]


def activate(x: Tensor, norm: Tensor | None, alpha: Tensor | None, slope: float) -> Tensor:
    """act((x - mean) * scale + shift): Snake where there is an alpha, leaky ReLU with `slope` otherwise.

    x (1, T, C); norm (3, C): mean, scale, shift; alpha (C,).
    """
    if norm is not None:
        mean, scale, shift = norm
        x = (x - mean) * scale + shift
    if alpha is not None:
        return x + torch.sin(alpha * x) ** 2 / alpha
    return x if slope == 1.0 else F.leaky_relu(x, slope)


class Activation:
    """The same on TIR values."""

    def __init__(self, norm: Any | None, alpha: Any | None, slope: float) -> None:
        self._norm, self._alpha, self._slope = norm, alpha, slope

    def channels(self, k: Kernel, c: Any, lanes: int) -> Callable[[Any], Any]:
        """Reads the coefficients of `lanes` channels from `c` on; the result maps a vector of values."""
        norm, alpha, slope = self._norm, self._alpha, self._slope
        kind = _math.dtype(lanes)
        coefficients = (
            [k.let(k.load(norm, i, c, lanes=lanes)) for i in range(3)] if norm is not None else None
        )
        a = k.let(k.load(alpha, c, lanes=lanes)) if alpha is not None else None
        inverse = k.let(const(1.0, kind) / a) if a is not None else None

        def apply(value: Any) -> Any:
            if coefficients is not None:
                mean, scale, shift = coefficients
                value = k.let((value - mean) * scale + shift)
            if a is not None:
                return value + _math.sin_squared(k, a * value) * inverse
            if slope != 1.0:
                return select(value > const(0.0, kind), value, value * const(slope, kind))
            return value

        return apply
