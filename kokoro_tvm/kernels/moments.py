"""Moments of every channel, block by block: a pivot, sums about it, and a count."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from kokoro_tvm.kernels.base.expressions import Cast, ceildiv, const, maximum, minimum, select
from kokoro_tvm.kernels.base.math import dtype
from kokoro_tvm.kernels.base.semantic import Extent, OpCall, OpImplementation, Shape, crop_valid, semantic_op
from kokoro_tvm.kernels.cpu.kernel import CpuKernel
from kokoro_tvm.kernels.gpu.fold import ChannelReduction, sum_pairwise
from kokoro_tvm.kernels.gpu.kernel import GpuKernel

FEWEST_STEPS = 64
"""Fewest steps of a block, except in short tensors; bounds how many slots a length needs."""
SPARE_SLOTS = 16
"""Slots besides steps // FEWEST_STEPS."""
BLOCK = 256
"""Steps of a block on a CPU."""


def slots(steps: Extent) -> Extent:
    """Return how many blocks the moments of `steps` steps have room for."""
    return steps // FEWEST_STEPS + SPARE_SLOTS


def emit_block_moments(
    k: CpuKernel, x: Any, start: Any, steps: Any, c: Any, into: tuple[Any, Any], lanes: int
) -> None:
    """Emit the moments of a block: `steps` steps of x (1, T, C) from `start`, `lanes` channels from `c`.

    Args:
        k: The kernel.
        x: The tensor.
        start: First step of the block.
        steps: Steps of the block.
        c: First channel.
        into: The buffer of moments, and the block's slot.
        lanes: Channels.
    """
    # Two passes over cached values make the mean the pivot, so an outlying first value costs no bits.
    y, slot = into
    kind = dtype(lanes)
    count = k.let(k.broadcast(Cast("float32", steps), lanes))

    def sum_differences(pivot: Any) -> tuple[Any, Any]:
        """Return the sums of the differences from a pivot and of their squares."""
        total, squares = k.registers(lanes), k.registers(lanes)
        for register in (total, squares):
            k.store(register, const(0.0, kind), 0, lanes=lanes)
        with k.loop(steps) as t:
            value = k.let(k.load(x, 0, start + t, c, lanes=lanes) - pivot)
            k.accumulate(total, value, 0, lanes=lanes)
            k.accumulate(squares, value * value, 0, lanes=lanes)
        return k.load(total, 0, lanes=lanes), k.load(squares, 0, lanes=lanes)

    first = k.let(k.load(x, 0, start, c, lanes=lanes))
    mean = k.let(first + sum_differences(first)[0] / count)
    for i, value in enumerate((mean, *sum_differences(mean), count)):
        k.store(y, value, slot, i, c, lanes=lanes)


def emit_all_block_moments(
    k: CpuKernel, x: Any, start: Any, steps: Any, into: tuple[Any, Any], blocks: Any
) -> None:
    """Emit the moments of all channels of a block; the first block also clears the slots after `blocks`."""
    y, block = into
    with k.when(block == 0):
        clear_slots(k, y, blocks)
    k.vectorize(int(x.shape[2]), lambda c, width: emit_block_moments(k, x, start, steps, c, into, width))


def clear_slots(k: CpuKernel, y: Any, first: Any) -> None:
    """Mark the slots from `first` on as empty."""
    with k.loop(y.shape[0] - first) as i:
        k.vectorize(int(y.shape[2]), lambda c, w: k.store(y, const(0.0, dtype(w)), first + i, 3, c, lanes=w))


def _infer_shape(*, x: Shape, **_: Any) -> Shape:
    return (slots(x[1]), 4, x[2])


def _build_cpu_kernel(call: OpCall) -> Any:
    k = CpuKernel("moments", call.features.lanes)
    with k:
        x = k.param("x", call.shapes["x"])
        y, valid_steps = call.declare_result(k, x)
        n = k.let(valid_steps, "n")
        blocks = k.let(ceildiv(n, BLOCK), "blocks")
        with k.parallel(blocks) as block:
            start = k.let(block * BLOCK)
            steps = k.let(minimum(const(BLOCK, "int64"), n - start))
            emit_all_block_moments(k, x, start, steps, (y, block), blocks)
    return k.build()


_GPU_STEPS, _GPU_ROWS, _GPU_LANES = 128, 8, 32  # of a workgroup's block, which stays in registers


def _build_gpu_kernel(call: OpCall) -> Any:
    k = GpuKernel("moments", call.features)
    with k:
        x = k.param("x", call.shapes["x"])
        y, valid_steps = call.declare_result(k, x)
        emit_moments(k, int(x.shape[2]), k.index(x.shape[1]), valid_steps, lambda t, c: x[0, t, c], None, y)
    return k.build()


def emit_moments(
    k: GpuKernel,
    channels: int,
    steps: Any,
    valid_steps: Any,
    read: Callable[[Any, Any], Any],
    copy: Any | None,
    moments: Any | None,
) -> None:
    """Emit the launch: a workgroup reads a block of steps of 32 channels once and computes its moments.

    The values stay in registers, so that both passes read memory once.

    Args:
        k: The kernel.
        channels: Channels of the tensor.
        steps: Steps that the tensor has room for.
        valid_steps: Valid steps, known only on the GPU.
        read: Called as read(step, channel).
        copy: Buffer (1, T, C) that the values are copied to, or None.
        moments: Buffer of the moments, or None.
    """
    blocks = k.index(moments.shape[0]) if moments is not None else ceildiv(steps, _GPU_STEPS)
    threads, groups = _GPU_ROWS * _GPU_LANES, ChannelReduction.groups(channels, _GPU_LANES)
    with k.launch(threads, blocks, groups) as (thread, slot, group):
        columns = ChannelReduction.of(k, _GPU_ROWS, _GPU_LANES, thread, group, channels)
        n, start, c = k.let(valid_steps), k.let(slot * _GPU_STEPS), columns.channel
        turns = range(_GPU_STEPS // _GPU_ROWS)
        own = [k.let(start + columns.row + i * _GPU_ROWS) for i in turns]
        values = k.registers(len(turns))
        for i in turns:
            k.store(values, const(0.0, "float32"), i)
            with k.when(own[i] < n):
                k.store(values, read(own[i], c), i)
                if copy is not None:
                    with k.when(columns.exists):
                        k.store(copy, values[i], 0, own[i], c)
        if moments is None:
            return

        def subtract(pivot: Any) -> list[Any]:
            """Return the differences of the valid steps from a pivot."""
            return [k.let(select(own[i] < n, values[i] - pivot, const(0.0, "float32"))) for i in turns]

        count = k.let(Cast("float32", maximum(minimum(n - start, _GPU_STEPS), 0)))
        first = k.let(read(k.let(minimum(start, n - 1)), c))
        (total,) = columns.totals(sum_pairwise(subtract(first)))
        mean = k.let(first + total / maximum(count, const(1.0, "float32")))
        differences = subtract(mean)
        total, squares = columns.totals(sum_pairwise(differences), sum_pairwise([v * v for v in differences]))
        with k.when(columns.first):
            for i, value in enumerate((mean, total, squares, count)):
                k.store(moments, value, slot, i, c)


@semantic_op(_infer_shape, cpu=OpImplementation(_build_cpu_kernel), gpu=OpImplementation(_build_gpu_kernel))
def moments(x: Tensor, length: Tensor | None = None) -> Tensor:
    """Return a pivot, the sums of differences and squared differences from it, and a count, per block.

    A count of 0 marks an empty slot. The kernel chooses the blocks; the statistics that `adain_coefficients`
    computes of all blocks do not depend on them. Differences from a value of the block itself are exact if
    values are large and close together; sums of plain squares would lose them.

    Args:
        x: (1, T, C).
        length: int64 (1,), valid steps.

    Returns:
        (slots, 4, C).
    """
    steps = crop_valid(x, length)[0]
    y = x.new_zeros(_infer_shape(x=x.shape))
    differences = steps - steps[0]
    y[0] = torch.stack(
        [steps[0], differences.sum(0), (differences**2).sum(0), torch.full_like(steps[0], len(steps))]
    )
    return y
