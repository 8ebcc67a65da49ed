"""Valid lengths, from one axis to another."""

from __future__ import annotations

import torch
from torch import Tensor

__all__ = ["mask_invalid", "scale_length"]


def scale_length(length: Tensor | None, factor: int, plus: int = 0) -> Tensor | None:
    """`length * factor + plus` on an axis that is as many times longer; None stays None. int64 (1,)."""
    if length is None:
        return None
    length = length * factor if factor != 1 else length
    return length + plus if plus else length


def mask_invalid(x: Tensor, length: Tensor | None) -> Tensor:
    """`x` (..., T) with zeros from step `length` on, whatever stood there (NaN included)."""
    if length is None:
        return x
    steps = torch.arange(x.shape[-1], device=x.device)
    return torch.where(steps < length, x, torch.zeros((), dtype=x.dtype, device=x.device))
