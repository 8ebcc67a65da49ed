"""Valid lengths: conversion between axes, and masking."""

from __future__ import annotations

import torch
from torch import Tensor


def scale_length(length: Tensor | None, factor: int, plus: int = 0) -> Tensor | None:
    """Return `length * factor + plus` on an axis that is `factor` times longer; None stays None."""
    if length is None:
        return None
    length = length * factor if factor != 1 else length
    return length + plus if plus else length


def mask_invalid(x: Tensor, length: Tensor | None) -> Tensor:
    """Return `x` (..., T) with zeros from step `length` on, whatever they replace (NaN included)."""
    if length is None:
        return x
    steps = torch.arange(x.shape[-1], device=x.device)
    return torch.where(steps < length, x, torch.zeros((), dtype=x.dtype, device=x.device))
