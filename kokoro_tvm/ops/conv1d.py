"""Convolution over time, with what surrounds it in Kokoro: activation before, residual and gain after."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch.nn.functional as F
from torch import Tensor

from kokoro_tvm.ops import _conv
from kokoro_tvm.ops._activation import activate
from kokoro_tvm.ops._semantic import Call, Packing, Shape, semantic_op, valid

__all__ = ["conv1d"]


def _shape(*, x: Shape, weight: Shape, stride: int, padding: int, dilation: int, **_: Any) -> Shape:
    taps = weight[2] if len(weight) == 3 else 1
    return (1, weight[0], (x[2] + 2 * padding - dilation * (taps - 1) - 1) // stride + 1)


def _kernel(call: Call) -> Any:
    return _conv.convolution(call)


def _packings(call: Call) -> Mapping[str, Packing]:
    return {"weight": _conv.pack_convolution(call)}


@semantic_op(shape=_shape, kernel=_kernel, packings=_packings)
def conv1d(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    norm: Tensor | None = None,
    alpha: Tensor | None = None,
    residual: Tensor | None = None,
    length: Tensor | None = None,
    *,
    stride: int = 1,
    padding: int = 0,
    dilation: int = 1,
    slope: float = 1.0,
    gain: float = 1.0,
) -> Tensor:
    """gain * (conv(act(norm(x))) + bias + residual), zeros beyond the valid part of `act(norm(x))`.

    x (1, I, T); weight (O, I, K) or (O, I) for one tap; bias (O,); norm (3, I), see `adain_coefficients`;
    alpha (I,): Snake activation, else leaky ReLU with `slope` (1.0: none); residual like the result (1, O,
    T'); length (1,) int64: how much of T is valid, in time steps of x.
    """
    y = activate(valid(x, length), norm, alpha, slope)
    kernel = weight if weight.dim() == 3 else weight.unsqueeze(-1)
    y = F.conv1d(y, kernel, bias, stride, padding, dilation)
    if residual is not None:
        y = y + residual[..., : y.shape[-1]]
    out = x.new_zeros(
        _shape(x=x.shape, weight=weight.shape, stride=stride, padding=padding, dilation=dilation)
    )
    out[..., : y.shape[-1]] = y * gain
    return out
