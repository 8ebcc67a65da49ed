"""Adaptive instance normalisation, reduced to three numbers a channel for the convolution that applies
them."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from kokoro_tvm.ops._kernel import Cast, Kernel, ceildiv, const, minimum, sqrt
from kokoro_tvm.ops._math import dtype
from kokoro_tvm.ops._semantic import Call, Shape, semantic_op, valid

__all__ = ["adain_coefficients"]


def _shape(*, x: Shape, **_: Any) -> Shape:
    return (3, x[1])


_CHUNK = 1024  # steps summed in float32 before the total, which is kept in float64


def _kernel(call: Call) -> Any:
    lanes = call.features.lanes
    channels = int(call.shapes["x"][1])
    k = Kernel("adain_coefficients", lanes)
    with k:
        x = k.param("x", call.shapes["x"])
        style = k.param("style", (1, 2 * channels))
        weight, bias = k.param("weight", (channels,)), k.param("bias", (channels,))
        length = k.param("length", (1,), "int64") if call.has("length") else None
        y = k.param("y", (3, channels))
        n = k.let(length[0] if length is not None else k.index(x.shape[2]), "n")
        steps = k.let(Cast("float64", n))

        def total(c: Any, term: Any) -> Any:
            """Sum over the row of `term(value, lanes)`, in float64."""
            result, partial = k.registers(1, "float64"), k.registers(lanes)
            k.store(result, const(0.0, "float64"), 0)
            with k.loop(ceildiv(n, _CHUNK)) as chunk:
                start = k.let(chunk * _CHUNK)
                steps = k.let(minimum(const(_CHUNK, "int64"), n - start))
                k.store(partial, const(0.0, dtype(lanes)), 0, lanes=lanes)
                whole = k.let(steps // lanes)
                with k.loop(whole) as i:
                    value = k.let(k.load(x, 0, c, start + i * lanes, lanes=lanes))
                    k.store(partial, k.load(partial, 0, lanes=lanes) + term(value, lanes), 0, lanes=lanes)
                for lane in range(lanes):
                    k.store(result, result[0] + Cast("float64", partial[lane]), 0)
                with k.loop(steps - whole * lanes) as i:
                    value = k.let(x[0, c, start + whole * lanes + i])
                    k.store(result, result[0] + Cast("float64", term(value, 1)), 0)
            return k.let(result[0])

        with k.parallel(channels) as c:
            # Differences from any value of the row are exact where values are large and close together.
            pivot = k.let(x[0, c, 0], "pivot")
            offset = total(c, lambda value, width: value - k.splat(pivot, width)) / steps
            exact = k.let(Cast("float64", pivot) + offset, "exact_mean")
            mean = k.let(Cast("float32", exact), "mean")

            def centred(value: Any, width: int) -> Any:
                difference = k.let(value - k.splat(mean, width))
                return difference * difference

            # About a mean that is rounded the squares are too large by the square of what rounding took.
            lost = k.let(exact - Cast("float64", mean), "lost")
            variance = k.let(total(c, centred) / steps - lost * lost, "variance")
            deviation = sqrt(variance + const(float(call.attributes["eps"]), "float64"))
            gain = k.let(const(1.0, "float64") + Cast("float64", style[0, c]))
            scale = k.let(gain * Cast("float64", weight[c]) / deviation)
            shift = gain * Cast("float64", bias[c]) + Cast("float64", style[0, channels + c])
            k.store(y, mean, 0, c)
            k.store(y, Cast("float32", scale), 1, c)
            # A rounded mean would shift every step alike, and a shifted pitch drifts away over an utterance.
            k.store(y, Cast("float32", shift - lost * scale), 2, c)
    return k.build()


@semantic_op(shape=_shape, kernel=_kernel)
def adain_coefficients(
    x: Tensor,
    style: Tensor,
    weight: Tensor,
    bias: Tensor,
    length: Tensor | None = None,
    *,
    eps: float = 1e-5,
) -> Tensor:
    """(mean, scale, shift) with (1 + gamma) * instance_norm(x) + beta == (x - mean) * scale + shift; (3, C).

    x (1, C, T); style (1, 2C): gamma then beta; weight, bias (C,): the instance norm's own affine part;
    length (1,) int64: statistics are taken over that many steps. The variance is centred (and biased, as in
    torch).
    """
    gamma, beta = style[0].double().chunk(2)
    variance, exact = torch.var_mean(valid(x, length)[0].double(), dim=-1, correction=0)
    mean = exact.to(x.dtype)
    scale = (1 + gamma) * weight.double() / torch.sqrt(variance + eps)
    shift = (1 + gamma) * bias.double() + beta - (exact - mean.double()) * scale
    return torch.stack([mean, scale.to(x.dtype), shift.to(x.dtype)])
