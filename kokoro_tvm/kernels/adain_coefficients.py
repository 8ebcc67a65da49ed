"""Adaptive instance normalization, reduced to three coefficients per channel for the convolution after it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor
from tvm import tirx

from kokoro_tvm.kernels.base.expressions import Cast, const, select, sqrt
from kokoro_tvm.kernels.base.math import dtype
from kokoro_tvm.kernels.base.semantic import (
    LaunchSharing,
    OpCall,
    OpImplementation,
    Packing,
    Shape,
    semantic_op,
)
from kokoro_tvm.kernels.cpu import product as cpu_product
from kokoro_tvm.kernels.cpu.kernel import CpuKernel
from kokoro_tvm.kernels.gpu.exact import COLUMNS, THREADS, product
from kokoro_tvm.kernels.gpu.fold import ChannelReduction
from kokoro_tvm.kernels.gpu.kernel import GpuKernel
from kokoro_tvm.kernels.gpu.members import MemberBuffer, declare_members, declare_weights


def _infer_shape(*, moments: Shape, **_: Any) -> Shape:
    return (3, moments[2])


def _build_cpu_kernel(call: OpCall) -> Any:
    lanes = call.features.lanes
    channels, size = (int(call.shapes[name][-1]) for name in ("moments", "style"))
    k = CpuKernel("adain_coefficients", lanes)
    with k:
        moments, vector = k.param("moments", call.shapes["moments"]), k.param("style", (1, size))
        style_weight = k.param("style_weight", cpu_product.packed_shape(2 * channels, size, lanes))
        style_bias = k.param("style_bias", (2 * channels,))
        weight, bias = k.param("weight", (channels,)), k.param("bias", (channels,))
        y = k.param("y", (3, channels))
        slots = k.let(k.index(moments.shape[0]), "slots")
        style = k.scratch(2 * channels)

        def store_style(at: Any, value: Any) -> None:
            k.store(style, value, at)

        cpu_product.emit(k, lanes, vector, style_weight, style_bias, 2 * channels, store_style)

        def columns(c: Any, width: int) -> None:
            """Combine the blocks' moments two by two, in float64 (Chan, Golub and LeVeque, 1979)."""
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
                    share = k.let(k.let(total) / k.broadcast(steps, width))
                    delta = k.let(pivot + share - k.load(mean, 0, lanes=width))
                    all_steps = k.let(count[0] + steps)
                    weighted = k.let(delta * k.broadcast(steps / all_steps, width))
                    own = k.let(square - total * share)
                    between = delta * weighted * k.broadcast(count[0], width)
                    k.accumulate(squares, own + between, 0, lanes=width)
                    k.accumulate(mean, weighted, 0, lanes=width)
                    k.store(count, all_steps, 0)

            def wide_load(buffer: Any, *index: Any) -> Any:
                """Load channels as float64."""
                return Cast(wide, k.load(buffer, *index, lanes=width))

            exact = k.let(k.load(mean, 0, lanes=width))
            rounded = k.let(Cast(dtype(width), exact))
            variance = k.load(squares, 0, lanes=width) / k.broadcast(count[0], width)
            deviation = sqrt(variance + const(call.get_float("eps"), wide))
            gain = k.let(const(1.0, wide) + wide_load(style, c))
            scale = k.let(gain * wide_load(weight, c) / deviation)
            shift = gain * wide_load(bias, c) + wide_load(style, channels + c)
            # A rounded mean would shift every step alike, and a shifted pitch drifts away over an utterance.
            lost = k.let(exact - Cast(wide, rounded))
            k.store(y, rounded, 0, c, lanes=width)
            k.store(y, Cast(dtype(width), scale), 1, c, lanes=width)
            k.store(y, Cast(dtype(width), shift - lost * scale), 2, c, lanes=width)

        k.vectorize(channels, columns)
    return k.build()


def _get_packings(call: OpCall) -> Mapping[str, Packing]:
    return {"style_weight": cpu_product.packing(call.features.lanes)}


_GPU_LANES = COLUMNS // 2  # channels whose gamma and beta a workgroup computes
_GPU_ROWS = THREADS // _GPU_LANES
# WebGPU has ten buffers: a member takes two, the style and the joined weights one each.
_GPU_SHARING = LaunchSharing(4, ("moments",), ("style",), ("style_weight", "style_bias", "weight", "bias"))


def _get_gpu_packings(call: OpCall) -> Mapping[str, Packing]:
    """Pack, for each workgroup, the gammas of its channels, then their betas."""

    def pack(weight: np.ndarray) -> np.ndarray:
        channels, size = weight.shape[0] // 2, weight.shape[1]
        groups = ChannelReduction.groups(channels, _GPU_LANES)
        packed = np.zeros((2, groups * _GPU_LANES, size), np.float32)
        packed[:, :channels] = weight.reshape(2, channels, size)
        columns = packed.reshape(2, groups, _GPU_LANES, size).transpose(3, 1, 0, 2)
        return np.ascontiguousarray(columns.reshape(size, -1))

    return {"style_weight": Packing(f"gpu_style(channels={_GPU_LANES})", pack)}


def _build_gpu_kernel(call: OpCall) -> Any:
    """Build the GPU kernel, in float32."""
    # Means are taken about the first block's pivot, which large means are near; then about the mean of all,
    # so that the variance is centred.
    channels, size = (int(call.shapes[name][-1]) for name in ("moments", "style"))
    groups = ChannelReduction.groups(channels, _GPU_LANES)
    k = GpuKernel("adain_coefficients", call.features)
    zero, one = const(0.0, "float32"), const(1.0, "float32")
    shapes = {
        "style_weight": (size, groups * COLUMNS),
        "style_bias": (2 * channels,),
        "weight": (channels,),
        "bias": (channels,),
    }
    with k:
        moments_of_members = declare_members(k, "moments", call.shapes["moments"], call.members)
        vector = k.param("style", (1, size))
        weights_of = declare_weights(k, shapes, call.members)
        results = declare_members(k, "y", (3, channels), call.members)
        with k.launch(THREADS, groups, call.members) as (thread, group, member):
            style_weight, style_bias, weight, bias = weights_of(member)
            moments, y = MemberBuffer(k, moments_of_members, member), MemberBuffer(k, results, member)
            columns = ChannelReduction.of(k, _GPU_ROWS, _GPU_LANES, thread, group, channels)
            c = columns.channel
            origin = k.let(moments[0, 0, c])

            def over_blocks(count: int, terms: Callable[..., tuple[Any, ...]]) -> list[Any]:
                """Sum terms(steps, mean about the origin, squares about the mean) over nonempty blocks."""
                sums = [k.registers(1) for _ in range(count)]
                for total in sums:
                    k.store(total, zero, 0)

                def block(slot: Any) -> None:
                    """Add the terms of a block, unless its slot is empty."""
                    steps = k.let(moments[slot, 3, c])
                    with k.when(steps > zero):
                        share = k.let(moments[slot, 1, c] / steps)
                        mean = k.let(moments[slot, 0, c] - origin + share)
                        squares = k.let(moments[slot, 2, c] - moments[slot, 1, c] * share)
                        for total, term in zip(sums, terms(steps, mean, squares), strict=True):
                            k.accumulate(total, term, 0)

                columns.over(moments.extent(0), block)
                return columns.totals(*(total[0] for total in sums))

            all_steps, sum_of_means = over_blocks(2, lambda steps, mean, _: (steps, steps * mean))
            inverse_count = k.let(one / all_steps)
            near = k.let(sum_of_means * inverse_count)

            def center(steps: Any, mean: Any, squares: Any) -> tuple[Any, ...]:
                """Return the terms of the variance: the block's squares moved to the mean of all blocks."""
                difference = k.let(mean - near)
                return steps * difference, squares + steps * difference * difference

            rest, squares = over_blocks(2, center)
            rest = k.let(rest * inverse_count)  # rounding error of the sum of means
            offset = k.let(near + rest)
            variance = k.let(squares * inverse_count - rest * rest)
            variance = k.let(select(variance < zero, zero, variance))
            deviation = k.let(sqrt(variance + k.real(call.get_float("eps"))))
            # Shared memory keeps compilers that may reorder from simplifying `lost` to zero.
            pivots = k.shared(_GPU_ROWS * _GPU_LANES)
            k.store(pivots, origin + offset, thread)
            k.barrier()
            rounded = k.let(pivots[thread])
            lost = k.let((origin - rounded) + offset)
            # Every other thread of a channel has gamma's column, the others have beta's.
            half = k.let(tirx.truncmod(columns.row, 2))
            at = k.let(group * COLUMNS + tirx.truncmod(thread, COLUMNS))
            computed = product(k, thread, vector, style_weight, style_bias, at, half * channels + c)
            style = k.shared(COLUMNS)
            with k.when(thread < COLUMNS):
                k.store(style, computed, thread)
            k.barrier()
            gamma, beta = k.let(style[columns.lane]), k.let(style[_GPU_LANES + columns.lane])
            gain = k.let(one + gamma)
            scale = k.let(gain * weight[c] / deviation)
            with k.when(columns.first):
                y.store(rounded, 0, c)
                y.store(scale, 1, c)
                y.store(gain * bias[c] + beta - lost * scale, 2, c)
    return k.build()


@semantic_op(
    _infer_shape,
    cpu=OpImplementation(_build_cpu_kernel, _get_packings),
    gpu=OpImplementation(_build_gpu_kernel, _get_gpu_packings, sharing=_GPU_SHARING),
)
def adain_coefficients(
    moments: Tensor,
    style: Tensor,
    style_weight: Tensor,
    style_bias: Tensor,
    weight: Tensor,
    bias: Tensor,
    *,
    eps: float = 1e-5,
) -> Tensor:
    """Return (mean, scale, shift) such that (x - mean) * scale + shift is the adaptive instance norm of x.

    That is (1 + gamma) * instance_norm(x) + beta. gamma, then beta, are style_weight @ style + style_bias,
    rounded once as in `linear`. The variance is centred, and biased as in torch.

    Args:
        moments: (M, 4, C), the moments of x, see `moments`.
        style: (1, S).
        style_weight: (2C, S).
        style_bias: (2C,).
        weight: (C,), of the instance norm.
        bias: (C,), of the instance norm.
        eps: Added to the variance.

    Returns:
        (3, C).
    """
    styled = F.linear(style.double(), style_weight.double(), style_bias.double()).to(moments.dtype)
    gamma, beta = styled[0].double().chunk(2)
    pivot, total, squares, steps = moments.double().unbind(1)
    nonempty = steps[:, 0] > 0
    pivot, total, squares, steps = pivot[nonempty], total[nonempty], squares[nonempty], steps[nonempty]
    means = pivot + total / steps
    exact = (means * steps).sum(0) / steps.sum(0)
    variance = (squares - total**2 / steps + steps * (means - exact) ** 2).sum(0) / steps.sum(0)
    mean = exact.to(moments.dtype)
    scale = (1 + gamma) * weight.double() / torch.sqrt(variance + eps)
    shift = (1 + gamma) * bias.double() + beta - (exact - mean.double()) * scale
    return torch.stack([mean, scale.to(moments.dtype), shift.to(moments.dtype)])
