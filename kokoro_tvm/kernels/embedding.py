"""Embedding: ids become rows of a table."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from kokoro_tvm.kernels.base.expressions import ceildiv, const, maximum, minimum
from kokoro_tvm.kernels.base.semantic import OpCall, OpImplementation, Shape, semantic_op
from kokoro_tvm.kernels.cpu.kernel import CpuKernel
from kokoro_tvm.kernels.gpu.kernel import GpuKernel


def _infer_shape(*, weight: Shape, ids: Shape) -> Shape:
    return (1, ids[1], weight[1])


def _build_cpu_kernel(call: OpCall) -> Any:
    rows, channels = (int(extent) for extent in call.shapes["weight"])
    k = CpuKernel("embedding", call.features.lanes)
    with k:
        weight, ids = k.param("weight", (rows, channels)), k.param("ids", call.shapes["ids"], "int64")
        y = k.param("y", call.result)
        with k.loop(k.let(k.index(ids.shape[1]))) as t:
            # The runtime checks valid ids; the tail of a masked input is undefined.
            row = k.let(maximum(minimum(ids[0, t], const(rows - 1, "int64")), const(0, "int64")))

            def copy(c: Any, width: int, t: Any = t, row: Any = row) -> None:
                k.store(y, k.load(weight, row, c, lanes=width), 0, t, c, lanes=width)

            k.vectorize(channels, copy)
    return k.build()


_THREADS = 256


def _build_gpu_kernel(call: OpCall) -> Any:
    """Build the GPU kernel; its ids are int32."""
    rows, channels = (int(extent) for extent in call.shapes["weight"])
    k = GpuKernel("embedding", call.features)
    with k:
        weight, ids = k.param("weight", (rows, channels)), k.param("ids", call.shapes["ids"], "int32")
        y = k.param("y", call.result)
        elements = k.index(y.shape[1]) * channels
        with k.launch(_THREADS, ceildiv(elements, _THREADS)) as (thread, block):
            at = k.let(block * _THREADS + thread)
            with k.when(at < elements):
                t, c = k.divmod(at, channels)
                row = k.let(maximum(minimum(ids[0, t], const(rows - 1, "int32")), const(0, "int32")))
                k.store(y, weight[row, c], 0, t, c)
    return k.build()


@semantic_op(_infer_shape, cpu=OpImplementation(_build_cpu_kernel), gpu=OpImplementation(_build_gpu_kernel))
def embedding(weight: Tensor, ids: Tensor) -> Tensor:
    """Return weight[ids]; ids outside the table are clamped.

    Args:
        weight: (N, C).
        ids: int64 (1, T).

    Returns:
        (1, T, C).
    """
    return weight[ids.clamp(0, weight.shape[0] - 1)]
