"""Concatenation of channels that also emits the moments of the result."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from tvm import tirx

from kokoro_tvm.kernels.base.expressions import ceildiv, const, minimum
from kokoro_tvm.kernels.base.semantic import (
    OpCall,
    OpImplementation,
    Shape,
    crop_valid,
    pad_steps,
    semantic_op,
)
from kokoro_tvm.kernels.cpu.kernel import CpuKernel
from kokoro_tvm.kernels.gpu.kernel import GpuKernel
from kokoro_tvm.kernels.moments import BLOCK, emit_all_block_moments, emit_moments

_TENSORS = ("a", "b", "c", "d")


def _infer_shape(*, a: Shape, b: Shape, c: Shape | None, d: Shape | None, **_: Any) -> Shape:
    return (1, a[1], sum(int(tensor[2]) for tensor in (a, b, c, d) if tensor is not None))


def _build_cpu_kernel(call: OpCall) -> Any:
    """Build the CPU kernel."""
    # A block of steps is copied, and its moments are taken while the cache holds it.
    k = CpuKernel("join", call.features.lanes)
    with k:
        inputs = [k.param(name, call.shapes[name]) for name in _TENSORS if call.has(name)]
        y, valid_steps = call.declare_result(k)
        moments = k.param("moments", call.moments) if call.moments is not None else None
        n = k.let(valid_steps, "n")
        blocks = k.let(ceildiv(n, BLOCK), "blocks")
        with k.parallel(blocks) as block:
            start = k.let(block * BLOCK)
            steps = k.let(minimum(const(BLOCK, "int64"), n - start))
            with k.loop(steps) as i:
                first, t = 0, k.let(start + i)
                for tensor in inputs:

                    def copy(
                        c: Any, width: int, tensor: Any = tensor, first: int = first, t: Any = t
                    ) -> None:
                        k.store(y, k.load(tensor, 0, t, c, lanes=width), 0, t, first + c, lanes=width)

                    k.vectorize(int(tensor.shape[2]), copy)
                    first += int(tensor.shape[2])
            if moments is not None:
                emit_all_block_moments(k, y, start, steps, (moments, block), blocks)
    return k.build()


def _build_gpu_kernel(call: OpCall) -> Any:
    k = GpuKernel("join", call.features)
    with k:
        inputs = [k.param(name, call.shapes[name]) for name in _TENSORS if call.has(name)]
        y, valid_steps = call.declare_result(k)
        moments = k.param("moments", call.moments) if call.moments is not None else None

        def read(t: Any, channel: Any) -> Any:
            """Return a value of the result: a channel of the tensor that it belongs to."""
            value, first = k.registers(1), 0
            for tensor in inputs:
                width = int(tensor.shape[2])
                with k.when(tirx.all(channel >= first, channel < first + width)):
                    k.store(value, tensor[0, t, channel - first], 0)
                first += width
            return value[0]

        emit_moments(k, int(call.result[2]), k.index(y.shape[1]), valid_steps, read, y, moments)
    return k.build()


@semantic_op(
    _infer_shape,
    cpu=OpImplementation(_build_cpu_kernel, can_emit_moments=lambda call: True),
    gpu=OpImplementation(_build_gpu_kernel, can_emit_moments=lambda call: True),
)
def join(
    a: Tensor,
    b: Tensor,
    c: Tensor | None = None,
    d: Tensor | None = None,
    length: Tensor | None = None,
) -> Tensor:
    """Concatenate (1, T, A), (1, T, B), ... to (1, T, A + B + ...); zeros beyond the valid part.

    Args:
        a: (1, T, A).
        b: (1, T, B).
        c: (1, T, C).
        d: (1, T, D).
        length: int64 (1,), valid steps.
    """
    both = torch.cat([tensor for tensor in (a, b, c, d) if tensor is not None], dim=2)
    return pad_steps(crop_valid(both, length), both.shape[1])
