"""Layer normalization over the channels of each time step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch.nn.functional as F
from torch import Tensor

from kokoro_tvm.kernels.base.expressions import ceildiv, const, logical_and, select, sqrt
from kokoro_tvm.kernels.base.math import dtype
from kokoro_tvm.kernels.base.semantic import OpCall, OpImplementation, crop_valid, pad_steps, semantic_op
from kokoro_tvm.kernels.cpu.kernel import CpuKernel
from kokoro_tvm.kernels.gpu.fold import reduce_workgroup
from kokoro_tvm.kernels.gpu.kernel import GpuKernel

# Partial sums, also without vectors: the 768 channels of BERT, summed one after another, cost 8 dB.
_MIN_SUMS = 4


def _build_cpu_kernel(call: OpCall) -> Any:
    channels, lanes = int(call.shapes["x"][2]), max(call.features.lanes, _MIN_SUMS)
    slope = call.get_float("slope")
    k = CpuKernel("layer_norm", lanes)
    with k:
        x = k.param("x", call.shapes["x"])
        weight, bias = k.param("weight", (channels,)), k.param("bias", (channels,))
        y, valid_steps = call.declare_result(k, x)
        n = k.let(valid_steps, "n")
        with k.parallel(n) as t:

            def average(term: Callable[[Any, int], Any], t: Any = t) -> Any:
                """Return the mean over all channels of term(vector, width)."""
                sums, rest = k.registers(lanes), k.registers(1)
                k.store(sums, const(0.0, dtype(lanes)), 0, lanes=lanes)
                k.store(rest, const(0.0, "float32"), 0)

                def add(c: Any, width: int) -> None:
                    """Add the terms of `width` channels from `c` on."""
                    into = rest if width == 1 else sums
                    value = term(k.load(x, 0, t, c, lanes=width), width)
                    k.accumulate(into, value, 0, lanes=width)

                k.vectorize(channels, add)
                parts = [sums[lane] for lane in range(lanes)]
                while len(parts) > 1:  # in pairs: the error of a sum grows with its depth
                    parts = [k.let(a + b) for a, b in zip(parts[::2], parts[1::2], strict=True)]
                return k.let((parts[0] + rest[0]) * const(1.0 / channels, "float32"))

            mean = average(lambda value, width: value)

            def squared(value: Any, width: int, mean: Any = mean) -> Any:
                difference = k.let(value - k.broadcast(mean, width))
                return difference * difference

            deviation = k.let(sqrt(average(squared) + const(call.get_float("eps"), "float32")))

            def normalize(
                c: Any, width: int, t: Any = t, mean: Any = mean, deviation: Any = deviation
            ) -> None:
                """Normalize and store `width` channels from `c` on."""
                value = (k.load(x, 0, t, c, lanes=width) - k.broadcast(mean, width)) / k.broadcast(
                    deviation, width
                )
                value = k.let(value * k.load(weight, c, lanes=width) + k.load(bias, c, lanes=width))
                if slope != 1.0:
                    kind = dtype(width)
                    value = select(value > const(0.0, kind), value, value * const(slope, kind))
                k.store(y, value, 0, t, c, lanes=width)

            k.vectorize(channels, normalize)
    return k.build()


_THREADS = 64


def _build_gpu_kernel(call: OpCall) -> Any:
    """Build the GPU kernel: a workgroup for each step, whose channels it keeps in registers."""
    channels, slope = int(call.shapes["x"][2]), call.get_float("slope")
    shares = ceildiv(channels, _THREADS)
    k = GpuKernel("layer_norm", call.features)
    with k:
        x = k.param("x", call.shapes["x"])
        weight, bias = k.param("weight", (channels,)), k.param("bias", (channels,))
        y, n = call.declare_result(k, x)
        with k.launch(_THREADS, k.index(y.shape[1])) as (thread, t):
            values, total = k.registers(shares), k.registers(1)
            own = [k.let(thread + share * _THREADS) for share in range(shares)]

            def average(term: Callable[[int], Any]) -> Any:
                """Return the mean of a term over all channels."""
                k.store(total, const(0.0, "float32"), 0)
                for share, c in enumerate(own):
                    with k.when(c < channels):
                        k.accumulate(total, term(share), 0)
                (sum_of_terms,) = reduce_workgroup(
                    k, thread, _THREADS, [total[0]], lambda a, b: [a[0] + b[0]]
                )
                return k.let(sum_of_terms * const(1.0 / channels, "float32"))

            def read(share: int) -> Any:
                """Load a channel to its register and return it."""
                k.store(values, x[0, t, own[share]], share)
                return values[share]

            mean = average(read)

            def squared(share: int) -> Any:
                difference = k.let(values[share] - mean)
                return difference * difference

            deviation = k.let(sqrt(average(squared) + const(call.get_float("eps"), "float32")))
            for share, c in enumerate(own):
                with k.when(logical_and(t < n, c < channels)):
                    value = k.let((values[share] - mean) / deviation * weight[c] + bias[c])
                    if slope != 1.0:
                        value = select(value > const(0.0, "float32"), value, value * const(slope, "float32"))
                    k.store(y, value, 0, t, c)
    return k.build()


@semantic_op(cpu=OpImplementation(_build_cpu_kernel), gpu=OpImplementation(_build_gpu_kernel))
def layer_norm(
    x: Tensor, weight: Tensor, bias: Tensor, length: Tensor | None = None, *, eps: float, slope: float = 1.0
) -> Tensor:
    """Compute leaky_relu(layer_norm(x over channels) * weight + bias).

    Args:
        x: (1, T, C).
        weight: (C,).
        bias: (C,).
        length: int64 (1,), valid steps.
        eps: Added to the variance.
        slope: Of the leaky ReLU, 1.0 for none.

    Returns:
        (1, T, C).
    """
    y = crop_valid(x, length)
    y = F.leaky_relu(F.layer_norm(y, (x.shape[2],), weight, bias, eps), slope)
    return pad_steps(y, x.shape[1])
