"""The activation that precedes a convolution: adaptive instance normalisation, then Snake or leaky ReLU."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

__all__ = ["activate"]


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
