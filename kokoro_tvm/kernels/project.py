"""Projection of channels to one value per step, summed in float64 or as accurately.

The pitch is integrated over the utterance, so its errors would drift.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from kokoro_tvm.kernels.base.expressions import Cast, const, logical_and
from kokoro_tvm.kernels.base.math import dtype
from kokoro_tvm.kernels.base.semantic import (
    OpCall,
    OpImplementation,
    Shape,
    crop_valid,
    pad_steps,
    semantic_op,
)
from kokoro_tvm.kernels.cpu.kernel import CpuKernel
from kokoro_tvm.kernels.gpu.exact import CompensatedArithmetic
from kokoro_tvm.kernels.gpu.fold import reduce_workgroup
from kokoro_tvm.kernels.gpu.kernel import GpuKernel


def _infer_shape(*, x: Shape, **_: Any) -> Shape:
    return (1, x[1])


def _build_cpu_kernel(call: OpCall) -> Any:
    channels, lanes = int(call.shapes["x"][2]), call.features.lanes
    k = CpuKernel("project", lanes)
    with k:
        x, weight = k.param("x", call.shapes["x"]), k.param("weight", (1, channels, 1))
        bias = k.param("bias", (1,))
        y, valid_steps = call.declare_result(k, x)
        n = k.let(valid_steps, "n")

        row = k.scratch(channels)  # a copy, because a buffer (1, C, 1) cannot be read as vectors
        with k.loop(channels) as c:
            k.store(row, weight[0, c, 0], c)
        with k.loop(n) as t:
            total, partial = k.registers(1, "float64"), k.registers(lanes, "float64")
            k.store(total, Cast("float64", bias[0]), 0)
            k.store(partial, const(0.0, dtype(lanes, "float64")), 0, lanes=lanes)

            def add(c: Any, width: int, t: Any = t, total: Any = total, partial: Any = partial) -> None:
                """Add the products of `width` channels from `c` on to the sums, in float64."""
                wide = dtype(width, "float64")
                factor = Cast(wide, k.load(row, c, lanes=width))
                product = factor * Cast(wide, k.load(x, 0, t, c, lanes=width))
                sums = total if width == 1 else partial
                k.accumulate(sums, product, 0, lanes=width)

            k.vectorize(channels, add)
            for lane in range(lanes):
                k.accumulate(total, partial[lane], 0)
            k.store(y, Cast("float32", total[0]), 0, t)
    return k.build()


_THREADS = 64


def _build_gpu_kernel(call: OpCall) -> Any:
    """Build the GPU kernel: a workgroup for each step."""
    channels = int(call.shapes["x"][2])
    k = GpuKernel("project", call.features)
    with k:
        x, weight = k.param("x", call.shapes["x"]), k.param("weight", (1, channels, 1))
        bias = k.param("bias", (1,))
        y, n = call.declare_result(k, x)
        with k.launch(_THREADS, k.index(y.shape[1])) as (thread, t):
            exact, sums = CompensatedArithmetic(k, thread), k.zeros(2)
            with k.strided_loop(channels, thread, _THREADS) as c:
                exact.accumulate_product(sums, k.let(x[0, t, c]), k.let(weight[0, c, 0]))
            upper, lower = reduce_workgroup(k, thread, _THREADS, [sums[0], sums[1]], exact.add)
            with k.when(logical_and(thread == 0, t < n)):
                total = exact.add((upper, lower), (bias[0], const(0.0, "float32")))
                k.store(y, exact.round_pair(total), 0, t)
    return k.build()


@semantic_op(_infer_shape, cpu=OpImplementation(_build_cpu_kernel), gpu=OpImplementation(_build_gpu_kernel))
def project(x: Tensor, weight: Tensor, bias: Tensor, length: Tensor | None = None) -> Tensor:
    """Compute weight . x + bias at every step, rounded once.

    Args:
        x: (1, T, C).
        weight: (1, C, 1).
        bias: (1,).
        length: int64 (1,), valid steps.

    Returns:
        (1, T).
    """
    y = torch.einsum("c,tc->t", weight[0, :, 0].double(), crop_valid(x, length)[0].double()) + bias.double()
    return pad_steps(y.to(x.dtype)[None], x.shape[1])
