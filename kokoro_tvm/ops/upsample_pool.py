"""The depthwise transposed convolution that doubles the rate inside an upsampling AdaIN block."""

from __future__ import annotations

from typing import Any

import torch.nn.functional as F
from torch import Tensor

from kokoro_tvm.ops._activation import Activation, activate
from kokoro_tvm.ops._kernel import Kernel, const
from kokoro_tvm.ops._semantic import Call, Shape, semantic_op, valid

__all__ = ["upsample_pool"]


def _shape(*, x: Shape, **_: Any) -> Shape:
    return (1, x[1], 2 * x[2])


def _kernel(call: Call) -> Any:
    channels = int(call.shapes["x"][1])
    k = Kernel("upsample_pool", call.features.lanes)
    with k:
        x = k.param("x", call.shapes["x"])
        weight, bias = k.param("weight", (channels, 1, 3)), k.param("bias", (channels,))
        norm = k.param("norm", (3, channels)) if call.has("norm") else None
        length = k.param("length", (1,), "int64") if call.has("length") else None
        y = k.param("y", call.result)
        n = k.let(length[0] if length is not None else k.index(x.shape[2]), "n")
        activation = Activation(norm, None, float(call.attributes["slope"]))
        with k.parallel(channels) as c:
            apply = activation.channel(k, c)
            following = k.registers(1)
            k.store(following, const(0.0, "float32"), 0)
            with k.loop(n) as i:  # backwards, so that every step is activated once
                t = k.let(n - 1 - i)
                value = k.let(apply(x[0, c, t], 1))
                k.store(y, value * weight[c, 0, 1] + bias[c], 0, c, 2 * t)
                odd = value * weight[c, 0, 2] + following[0] * weight[c, 0, 0]
                k.store(y, odd + bias[c], 0, c, 2 * t + 1)
                k.store(following, value, 0)
    return k.build()


@semantic_op(shape=_shape, kernel=_kernel)
def upsample_pool(
    x: Tensor,
    weight: Tensor,
    bias: Tensor,
    norm: Tensor | None = None,
    length: Tensor | None = None,
    *,
    slope: float = 1.0,
) -> Tensor:
    """conv_transpose(act(norm(x))), stride 2, three taps a channel, padding and output padding 1: (1, C, 2T).

    x (1, C, T); weight (C, 1, 3); bias (C,); norm (3, C); length (1,) int64 in steps of x.
    """
    y = activate(valid(x, length), norm, None, slope)
    y = F.conv_transpose1d(y, weight, bias, stride=2, padding=1, output_padding=1, groups=x.shape[1])
    out = x.new_zeros(_shape(x=x.shape))
    out[..., : y.shape[-1]] = y
    return out
