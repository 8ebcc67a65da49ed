"""Layer normalisation over the channels of each time step."""

from __future__ import annotations

from typing import Any

import torch.nn.functional as F
from torch import Tensor

from kokoro_tvm.ops._kernel import Kernel, const, minimum, select, sqrt
from kokoro_tvm.ops._math import dtype
from kokoro_tvm.ops._semantic import Call, Shape, semantic_op, valid

__all__ = ["layer_norm"]


def _shape(*, x: Shape, **_: Any) -> Shape:
    return x


_PART = 32  # channels summed in one go


def _kernel(call: Call) -> Any:
    channels, lanes = int(call.shapes["x"][1]), call.features.lanes
    slope = float(call.attributes["slope"])
    k = Kernel("layer_norm", lanes)
    with k:
        x = k.param("x", call.shapes["x"])
        weight, bias = k.param("weight", (channels,)), k.param("bias", (channels,))
        length = k.param("length", (1,), "int64") if call.has("length") else None
        y = k.param("y", call.result)
        n = k.let(length[0] if length is not None else k.index(x.shape[2]), "n")

        def steps(t: Any, width: int) -> None:
            """Normalises `width` neighbouring steps side by side."""
            acc, partial = k.registers(width), k.registers(width)
            zero = const(0.0, dtype(width))

            def average(term: Any) -> Any:
                k.store(acc, zero, 0, lanes=width)
                with k.loop(-(-channels // _PART)) as part:
                    k.store(partial, zero, 0, lanes=width)
                    first = k.let(part * _PART)
                    with k.loop(minimum(const(_PART, "int64"), channels - first)) as offset:
                        value = term(k.load(x, 0, first + offset, t, lanes=width))
                        k.store(partial, k.load(partial, 0, lanes=width) + value, 0, lanes=width)
                    k.store(
                        acc, k.load(acc, 0, lanes=width) + k.load(partial, 0, lanes=width), 0, lanes=width
                    )
                return k.let(k.load(acc, 0, lanes=width) * const(1.0 / channels, dtype(width)))

            mean = average(lambda value: value)

            def centred(value: Any) -> Any:
                difference = k.let(value - mean)
                return difference * difference

            deviation = k.let(sqrt(average(centred) + const(float(call.attributes["eps"]), dtype(width))))
            with k.loop(channels) as c:
                value = (k.load(x, 0, c, t, lanes=width) - mean) / deviation
                value = k.let(value * k.splat(weight[c], width) + k.splat(bias[c], width))
                if slope != 1.0:
                    value = select(
                        value > const(0.0, dtype(width)), value, value * const(slope, dtype(width))
                    )
                k.store(y, value, 0, c, t, lanes=width)

        whole = k.let(n // lanes)
        with k.parallel(whole) as i:
            steps(i * lanes, lanes)
        with k.loop(n - whole * lanes) as i:
            steps(whole * lanes + i, 1)
    return k.build()


@semantic_op(shape=_shape, kernel=_kernel)
def layer_norm(
    x: Tensor, weight: Tensor, bias: Tensor, length: Tensor | None = None, *, eps: float, slope: float = 1.0
) -> Tensor:
    """leaky_relu(layer_norm(x over channels) * weight + bias). x (1, C, T); weight, bias (C,); length (1,)
    int64."""
    y = valid(x, length).transpose(1, 2)
    y = F.leaky_relu(F.layer_norm(y, (x.shape[1],), weight, bias, eps), slope).transpose(1, 2)
    out = x.new_zeros(x.shape)
    out[..., : y.shape[-1]] = y
    return out
