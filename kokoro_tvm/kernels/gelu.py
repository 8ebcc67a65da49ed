"""GELU in its tanh form, as ALBERT uses it."""

from __future__ import annotations

import math
from typing import Any

import torch.nn.functional as F
from torch import Tensor

from kokoro_tvm.kernels.base.expressions import Expr, ceildiv, const
from kokoro_tvm.kernels.base.kernel import BaseKernel
from kokoro_tvm.kernels.base.math import dtype, tanh
from kokoro_tvm.kernels.base.semantic import OpCall, OpImplementation, semantic_op
from kokoro_tvm.kernels.cpu.kernel import CpuKernel
from kokoro_tvm.kernels.gpu.kernel import GpuKernel


def _emit_gelu(k: BaseKernel, value: Expr, width: int = 1) -> Expr:
    """Return the GELU of a vector of `width` values, by its tanh approximation."""
    cubic = value + const(0.044715, dtype(width)) * value * value * value
    bent = tanh(k, const(math.sqrt(2 / math.pi), dtype(width)) * cubic)
    return const(0.5, dtype(width)) * value * (const(1.0, dtype(width)) + bent)


def _build_cpu_kernel(call: OpCall) -> Any:
    k = CpuKernel("gelu", call.features.lanes)
    with k:
        x, y = k.param("x", call.shapes["x"]), k.param("y", call.result)

        with k.parallel(k.let(k.index(x.shape[1]), "n")) as t:

            def body(c: Any, width: int) -> None:
                k.store(y, _emit_gelu(k, k.let(k.load(x, 0, t, c, lanes=width)), width), 0, t, c, lanes=width)

            k.vectorize(int(call.shapes["x"][2]), body)
    return k.build()


_THREADS = 256


def _build_gpu_kernel(call: OpCall) -> Any:
    k = GpuKernel("gelu", call.features)
    with k:
        x, y = k.param("x", call.shapes["x"]), k.param("y", call.result)
        channels = int(call.shapes["x"][2])
        elements = k.index(x.shape[1]) * channels
        with k.launch(_THREADS, ceildiv(elements, _THREADS)) as (thread, block):
            at = k.let(block * _THREADS + thread)
            with k.when(at < elements):
                t, c = k.divmod(at, channels)
                k.store(y, _emit_gelu(k, k.let(x[0, t, c])), 0, t, c)
    return k.build()


@semantic_op(cpu=OpImplementation(_build_cpu_kernel), gpu=OpImplementation(_build_gpu_kernel))
def gelu(x: Tensor) -> Tensor:
    """Compute 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) element by element, for x (1, T, C)."""
    return F.gelu(x, approximate="tanh")
