"""Adaptive instance normalisation, reduced to three numbers a channel for the convolution that applies
them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from tvm import te, tirx

from kokoro_tvm.ops.base.expressions import Cast, const, maximum, sqrt
from kokoro_tvm.ops.base.math import dtype
from kokoro_tvm.ops.base.plain import choose, f32, total
from kokoro_tvm.ops.base.semantic import Call, HandKernel, Shape, semantic_op
from kokoro_tvm.ops.cpu.kernel import Kernel
from kokoro_tvm.ops.gpu.columns import Columns
from kokoro_tvm.ops.gpu.kernel import GpuKernel

__all__ = ["adain_coefficients"]


def _shape(*, moments: Shape, **_: Any) -> Shape:
    return (3, moments[2])


def _kernel(call: Call) -> Any:
    lanes = call.features.lanes
    channels = int(call.shapes["moments"][2])
    k = Kernel("adain_coefficients", lanes)
    with k:
        moments = k.param("moments", call.shapes["moments"])
        style = k.param("style", (1, 2 * channels))
        weight, bias = k.param("weight", (channels,)), k.param("bias", (channels,))
        y = k.param("y", (3, channels))
        slots = k.let(k.index(moments.shape[0]), "slots")

        def columns(c: Any, width: int) -> None:
            """Blocks are combined two by two, in float64 (Chan, Golub and LeVeque, 1979)."""
            wide = dtype(width, "float64")
            count, mean, squares = (
                k.registers(1, "float64"),
                k.registers(width, "float64"),
                k.registers(width, "float64"),
            )
            k.store(count, const(0.0, "float64"), 0)
            k.store(mean, const(0.0, wide), 0, lanes=width)
            k.store(squares, const(0.0, wide), 0, lanes=width)
            with k.loop(slots) as slot:
                steps = k.let(Cast("float64", moments[slot, 3, c]))
                with k.when(steps > const(0.0, "float64")):
                    pivot, total, square = (
                        Cast(wide, k.load(moments, slot, i, c, lanes=width)) for i in range(3)
                    )
                    share = k.let(k.let(total) / k.splat(steps, width))
                    delta = k.let(pivot + share - k.load(mean, 0, lanes=width))
                    all_steps = k.let(count[0] + steps)
                    weighted = k.let(delta * k.splat(steps / all_steps, width))
                    own = k.let(square - total * share)
                    between = delta * weighted * k.splat(count[0], width)
                    k.store(squares, k.load(squares, 0, lanes=width) + (own + between), 0, lanes=width)
                    k.store(mean, k.load(mean, 0, lanes=width) + weighted, 0, lanes=width)
                    k.store(count, all_steps, 0)

            def wide_load(buffer: Any, *index: Any) -> Any:
                return Cast(wide, k.load(buffer, *index, lanes=width))

            exact = k.let(k.load(mean, 0, lanes=width))
            rounded = k.let(Cast(dtype(width), exact))
            variance = k.load(squares, 0, lanes=width) / k.splat(count[0], width)
            deviation = sqrt(variance + const(float(call.attributes["eps"]), wide))
            gain = k.let(const(1.0, wide) + wide_load(style, 0, c))
            scale = k.let(gain * wide_load(weight, c) / deviation)
            shift = gain * wide_load(bias, c) + wide_load(style, 0, channels + c)
            # A rounded mean would shift every step alike, and a shifted pitch drifts away over an utterance.
            lost = k.let(exact - Cast(wide, rounded))
            k.store(y, rounded, 0, c, lanes=width)
            k.store(y, Cast(dtype(width), scale), 1, c, lanes=width)
            k.store(y, Cast(dtype(width), shift - lost * scale), 2, c, lanes=width)

        k.each(channels, columns)
    return k.build()


_GPU_ROWS, _GPU_LANES = 16, 16


def _gpu_kernel(call: Call) -> Any:
    """In float32, about the first block's pivot, which large means are near; then about the mean of all, so
    that the variance is centred."""
    channels = int(call.shapes["moments"][2])
    k = GpuKernel("adain_coefficients", call.features)
    zero, one = const(0.0, "float32"), const(1.0, "float32")
    with k:
        moments = k.param("moments", call.shapes["moments"])
        style = k.param("style", (1, 2 * channels))
        weight, bias = k.param("weight", (channels,)), k.param("bias", (channels,))
        y = k.param("y", (3, channels))
        groups = Columns.groups(channels, _GPU_LANES)
        with k.launch(_GPU_ROWS * _GPU_LANES, groups) as (thread, group):
            columns = Columns.of(k, _GPU_ROWS, _GPU_LANES, thread, group, channels)
            c = columns.channel
            origin = k.let(moments[0, 0, c])

            def over_blocks(count: int, terms: Callable[..., tuple[Any, ...]]) -> list[Any]:
                """Sums of terms(steps, mean about the origin, squares about that mean) over the blocks that
                hold anything."""
                sums = [k.registers(1) for _ in range(count)]
                for total in sums:
                    k.store(total, zero, 0)

                def block(slot: Any) -> None:
                    steps = k.let(moments[slot, 3, c])
                    with k.when(steps > zero):
                        share = k.let(moments[slot, 1, c] / steps)
                        mean = k.let(moments[slot, 0, c] - origin + share)
                        squares = k.let(moments[slot, 2, c] - moments[slot, 1, c] * share)
                        for total, term in zip(sums, terms(steps, mean, squares), strict=True):
                            k.store(total, total[0] + term, 0)

                columns.over(moments.shape[0], block)
                return [columns.total(total[0]) for total in sums]

            all_steps, sum_of_means = over_blocks(2, lambda steps, mean, _: (steps, steps * mean))
            each = k.let(one / all_steps)
            near = k.let(sum_of_means * each)

            def apart(steps: Any, mean: Any, squares: Any) -> tuple[Any, ...]:
                difference = k.let(mean - near)
                return steps * difference, squares + steps * difference * difference

            rest, squares = over_blocks(2, apart)
            rest = k.let(rest * each)  # what rounding left of the sums of means
            offset = k.let(near + rest)
            variance = k.let(maximum(squares * each - rest * rest, zero))
            deviation = k.let(sqrt(variance + k.real(float(call.attributes["eps"]))))
            scale = k.let((one + style[0, c]) * weight[c] / deviation)
            # Through shared memory, because compilers that may reorder would make zero of what is lost below.
            kept = k.shared(_GPU_ROWS * _GPU_LANES)
            k.store(kept, origin + offset, thread)
            k.barrier()
            rounded = k.let(kept[thread])
            gain = k.let(one + style[0, c])
            lost = k.let((origin - rounded) + offset)
            with k.when(columns.first):
                k.store(y, rounded, 0, c)
                k.store(y, scale, 1, c)
                k.store(y, gain * bias[c] + style[0, channels + c] - lost * scale, 2, c)
    return k.build()


def _decomposed(b: Any, moments: Any, style: Any, weight: Any, bias: Any, *, eps: float) -> Any:
    """Blocks are combined about the first one's pivot, so that large means cost no bits."""

    def coefficients(moments: Any, style: Any, weight: Any, bias: Any) -> Any:
        slots, channels = moments.shape[0], moments.shape[2]
        origin = te.compute((channels,), lambda c: moments[0, 0, c], "origin")

        def over_blocks(name: str, term: Callable[[Any, Any], Any]) -> Any:
            """Sums over the blocks that hold anything: the others' values may be anything."""

            def counted(s: Any, c: Any) -> Any:
                return choose(moments[s, 3, c] > f32(0.0), term(s, c), f32(0.0))

            return te.compute((channels,), lambda c: total([slots], lambda s: counted(s, c)), name)

        def mean(s: Any, c: Any) -> Any:
            return moments[s, 0, c] - origin[c] + moments[s, 1, c] / moments[s, 3, c]

        def squares(s: Any, c: Any) -> Any:
            own = moments[s, 2, c] - moments[s, 1, c] * moments[s, 1, c] / moments[s, 3, c]
            apart = mean(s, c) - offset[c]
            return own + moments[s, 3, c] * apart * apart

        steps = over_blocks("steps", lambda s, c: moments[s, 3, c])
        sums = over_blocks("sums", lambda s, c: moments[s, 3, c] * mean(s, c))
        offset = te.compute((channels,), lambda c: sums[c] / steps[c], "offset")
        variance = over_blocks("variance", squares)
        gain = te.compute((channels,), lambda c: f32(1.0) + style[0, c], "gain")
        rounded = te.compute((channels,), lambda c: origin[c] + offset[c], "rounded")
        lost = te.compute((channels,), lambda c: (origin[c] - rounded[c]) + offset[c], "lost")

        def scaled(c: Any) -> Any:
            return gain[c] * weight[c] / tirx.sqrt(variance[c] / steps[c] + f32(eps))

        scale = te.compute((channels,), scaled, "scale")

        def value(i: Any, c: Any) -> Any:
            shift = gain[c] * bias[c] + style[0, channels + c] - lost[c] * scale[c]
            return tirx.Select(i == 0, rounded[c], tirx.Select(i == 1, scale[c], shift))

        return te.compute((3, channels), value, "coefficients")

    return b.emit_te(coefficients, moments, style, weight, bias, primfunc_name_hint="adain_coefficients")


@semantic_op(
    shape=_shape,
    decomposition=_decomposed,
    kernels={"cpu": HandKernel(_kernel), "gpu": HandKernel(_gpu_kernel)},
)
def adain_coefficients(
    moments: Tensor, style: Tensor, weight: Tensor, bias: Tensor, *, eps: float = 1e-5
) -> Tensor:
    """(mean, scale, shift) with (1 + gamma) * instance_norm(x) + beta == (x - mean) * scale + shift; (3, C).

    moments (M, 4, C) of x, see `moments`; style (1, 2C): gamma then beta; weight, bias (C,): the instance
    norm's own affine part. The variance is centred (and biased, as in torch).
    """
    gamma, beta = style[0].double().chunk(2)
    pivot, total, squares, steps = moments.double().unbind(1)
    used = steps[:, 0] > 0
    pivot, total, squares, steps = pivot[used], total[used], squares[used], steps[used]
    means = pivot + total / steps
    exact = (means * steps).sum(0) / steps.sum(0)
    variance = (squares - total**2 / steps + steps * (means - exact) ** 2).sum(0) / steps.sum(0)
    mean = exact.to(moments.dtype)
    scale = (1 + gamma) * weight.double() / torch.sqrt(variance + eps)
    shift = (1 + gamma) * bias.double() + beta - (exact - mean.double()) * scale
    return torch.stack([mean, scale.to(moments.dtype), shift.to(moments.dtype)])
