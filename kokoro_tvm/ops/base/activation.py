"""The activation that precedes a convolution: adaptive instance normalisation, then Snake or leaky ReLU."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from tvm import te, tirx

from kokoro_tvm.ops.base.plain import choose, f32, valid_steps

__all__ = ["activate", "emit_padded"]


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


def emit_padded(
    b: Any,
    x: Any,
    norm: Any | None,
    alpha: Any | None,
    slope: float,
    length: Any | None,
    around: tuple[int, int],
) -> Any:
    """The same as plain Relax, zeros beyond the valid part, and `around` steps of zeros before and behind."""
    before, behind = around

    def activated(value: Any, c: Any, norm: Any | None, alpha: Any | None) -> Any:
        if norm is not None:
            value = (value - norm[0, c]) * norm[1, c] + norm[2, c]
        if alpha is not None:
            sine = tirx.sin(alpha[c] * value)
            return value + sine * sine / alpha[c]
        return value if slope == 1.0 else tirx.Select(value > f32(0.0), value, value * f32(slope))

    def padded(x: Any, norm: Any | None, alpha: Any | None, length: Any | None) -> Any:
        def value(_: Any, t: Any, c: Any) -> Any:
            inside = tirx.all(t >= before, t - before < valid_steps(x, length))
            return choose(inside, activated(x[0, t - before, c], c, norm, alpha), f32(0.0))

        return te.compute((1, x.shape[1] + (before + behind), x.shape[2]), value, "padded")

    return b.emit_te(padded, x, norm, alpha, length, primfunc_name_hint="activated")
