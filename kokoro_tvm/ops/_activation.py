"""The activation that precedes a convolution: adaptive instance normalisation, then Snake or leaky ReLU."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from kokoro_tvm.ops import _math
from kokoro_tvm.ops._kernel import Kernel, const, select

__all__ = ["Activation", "activate"]


def activate(x: Tensor, norm: Tensor | None, alpha: Tensor | None, slope: float) -> Tensor:
    """act((x - mean) * scale + shift): Snake where there is an alpha, leaky ReLU with `slope` otherwise.

    x (1, C, T); norm (3, C): mean, scale, shift; alpha (C,).
    """
    if norm is not None:
        mean, scale, shift = norm.unsqueeze(-1)
        x = (x - mean) * scale + shift
    if alpha is not None:
        a = alpha.reshape(1, -1, 1)
        return x + torch.sin(a * x) ** 2 / a
    return x if slope == 1.0 else F.leaky_relu(x, slope)


class Activation:
    """The same on TIR values; `channel` reads the coefficients once, the result maps a value of that
    channel."""

    def __init__(self, norm: Any | None, alpha: Any | None, slope: float) -> None:
        self._norm, self._alpha, self._slope = norm, alpha, slope

    @property
    def is_identity(self) -> bool:
        return self._norm is None and self._alpha is None and self._slope == 1.0

    def channel(self, k: Kernel, c: Any) -> Any:
        norm, alpha, slope = self._norm, self._alpha, self._slope
        coefficients = [k.let(norm[i, c]) for i in range(3)] if norm is not None else None
        a = k.let(alpha[c]) if alpha is not None else None
        inverse = k.let(const(1.0, "float32") / a) if a is not None else None

        def apply(value: Any, lanes: int) -> Any:
            if coefficients is not None:
                mean, scale, shift = (k.splat(v, lanes) for v in coefficients)
                value = k.let((value - mean) * scale + shift)
            if a is not None:
                return value + _math.sin_squared(k, k.splat(a, lanes) * value) * k.splat(inverse, lanes)
            if slope != 1.0:
                return select(
                    value > const(0.0, _math.dtype(lanes)), value, value * const(slope, _math.dtype(lanes))
                )
            return value

        return apply
