"""Upsampling by transposed convolution, optionally starting with one reflected step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch.nn.functional as F
from torch import Tensor

from kokoro_tvm.ops import _conv
from kokoro_tvm.ops._activation import activate
from kokoro_tvm.ops._semantic import Call, Packing, Shape, semantic_op, valid

__all__ = ["conv_transpose1d"]


def _shape(*, x: Shape, weight: Shape, stride: int, lead: bool, **_: Any) -> Shape:
    return (1, weight[1], x[2] * stride + int(lead))


def _kernel(call: Call) -> Any:
    return _conv.transposed_convolution(call)


def _packings(call: Call) -> Mapping[str, Packing]:
    return {"weight": _conv.pack_transposed(call)}


@semantic_op(shape=_shape, kernel=_kernel, packings=_packings)
def conv_transpose1d(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    residual: Tensor | None = None,
    length: Tensor | None = None,
    *,
    stride: int,
    slope: float = 1.0,
    lead: bool = False,
) -> Tensor:
    """conv_transpose(leaky_relu(x)) + bias (+ residual), T*stride steps long (taps = 2*stride, padding =
    stride/2).

    x (1, I, T); weight (I, O, 2*stride); bias (O,); residual like the result; length (1,) int64 in steps of
    x. With `lead` the result starts with one more step, the reflection of its second (ReflectionPad1d((1,
    0))).
    """
    y = activate(valid(x, length), None, None, slope)
    y = F.conv_transpose1d(y, weight, bias, stride, padding=stride // 2)
    if lead:
        y = F.pad(y, (1, 0), mode="reflect")
    if residual is not None:
        y = y + residual[..., : y.shape[-1]]
    out = x.new_zeros(_shape(x=x.shape, weight=weight.shape, stride=stride, lead=lead))
    out[..., : y.shape[-1]] = y
    return out
