"""A few channels to one, summed in double precision: pitch is integrated over the utterance, so its errors
drift."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from kokoro_tvm.ops._kernel import Cast, Kernel
from kokoro_tvm.ops._math import dtype
from kokoro_tvm.ops._semantic import Call, Shape, semantic_op, valid

__all__ = ["project"]


def _shape(*, x: Shape, **_: Any) -> Shape:
    return (1, x[2])


def _kernel(call: Call) -> Any:
    channels = int(call.shapes["x"][1])
    k = Kernel("project", call.features.lanes)
    with k:
        x, weight = k.param("x", call.shapes["x"]), k.param("weight", (1, channels, 1))
        bias = k.param("bias", (1,))
        length = k.param("length", (1,), "int64") if call.has("length") else None
        y = k.param("y", call.result)
        n = k.let(length[0] if length is not None else k.index(x.shape[2]), "n")

        def steps(t: Any, width: int) -> None:
            wide = dtype(width, "float64")
            total = k.registers(width, "float64")
            k.store(total, k.splat(Cast("float64", bias[0]), width), 0, lanes=width)
            with k.loop(channels) as c:
                factor = k.splat(Cast("float64", weight[0, c, 0]), width)
                product = factor * Cast(wide, k.load(x, 0, c, t, lanes=width))
                k.store(total, k.load(total, 0, lanes=width) + product, 0, lanes=width)
            k.store(y, Cast(dtype(width), k.load(total, 0, lanes=width)), 0, t, lanes=width)

        k.each(n, steps)
    return k.build()


@semantic_op(shape=_shape, kernel=_kernel)
def project(x: Tensor, weight: Tensor, bias: Tensor, length: Tensor | None = None) -> Tensor:
    """weight . x + bias at every step, rounded once. x (1, C, T); weight (1, C, 1); bias (1,) -> (1, T);
    length (1,)."""
    y = torch.einsum("c,ct->t", weight[0, :, 0].double(), valid(x, length)[0].double()) + bias.double()
    out = x.new_zeros(1, x.shape[2])
    out[0, : y.shape[0]] = y.to(x.dtype)
    return out
