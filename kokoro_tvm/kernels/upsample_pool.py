"""Depthwise transposed convolution that doubles the rate inside an upsampling AdaIN block."""

from __future__ import annotations

from typing import Any

import torch.nn.functional as F
from torch import Tensor

from kokoro_tvm.kernels.base.expressions import ceildiv, const
from kokoro_tvm.kernels.base.math import dtype
from kokoro_tvm.kernels.base.semantic import (
    OpCall,
    OpImplementation,
    Shape,
    activate,
    crop_valid,
    pad_steps,
    semantic_op,
)
from kokoro_tvm.kernels.cpu.activation import Activation
from kokoro_tvm.kernels.cpu.kernel import CpuKernel
from kokoro_tvm.kernels.gpu.kernel import GpuKernel
from kokoro_tvm.kernels.gpu.layer import activate_value


def _infer_shape(*, x: Shape, **_: Any) -> Shape:
    return (1, 2 * x[1], x[2])


def _build_cpu_kernel(call: OpCall) -> Any:
    """Build the kernel: activate, then double the steps by a transposed depthwise convolution of 3 taps."""
    channels = int(call.shapes["x"][2])
    k = CpuKernel("upsample_pool", call.features.lanes)
    with k:
        x = k.param("x", call.shapes["x"])
        weight, bias = k.param("weight", (channels, 1, 3)), k.param("bias", (channels,))
        norm = k.param("norm", (3, channels)) if call.has("norm") else None
        y, valid_steps = call.declare_result(k, x)
        n = k.let(valid_steps, "n")
        activation = Activation(norm, None, call.get_float("slope"))

        def columns(c: Any, width: int) -> None:
            """Compute all steps of `width` channels from `c` on."""
            apply = activation.channels(k, c, width)
            offset = k.let(k.load(bias, c, lanes=width))
            taps = k.registers(3 * width)
            for lane in range(width):
                for tap in range(3):
                    k.store(taps, weight[c + lane, 0, tap], tap * width + lane)
            before, middle, after = (k.let(k.load(taps, tap * width, lanes=width)) for tap in range(3))
            following = k.registers(width)
            k.store(following, const(0.0, dtype(width)), 0, lanes=width)
            with k.loop(n) as i:  # backwards, so that every step is activated once
                t = k.let(n - 1 - i)
                value = k.let(apply(k.load(x, 0, t, c, lanes=width)))
                k.store(y, value * middle + offset, 0, 2 * t, c, lanes=width)
                odd = value * after + k.load(following, 0, lanes=width) * before
                k.store(y, odd + offset, 0, 2 * t + 1, c, lanes=width)
                k.store(following, value, 0, lanes=width)

        k.vectorize_parallel(channels, columns)
    return k.build()


_GPU_THREADS = 256


def _build_gpu_kernel(call: OpCall) -> Any:
    """Build the GPU kernel; a thread computes two steps of the result from one step of a channel."""
    channels = int(call.shapes["x"][2])
    k = GpuKernel("upsample_pool", call.features)
    with k:
        x = k.param("x", call.shapes["x"])
        weight, bias = k.param("weight", (channels, 1, 3)), k.param("bias", (channels,))
        norm = k.param("norm", (3, channels)) if call.has("norm") else None
        y, valid_steps = call.declare_result(k, x)
        values = k.index(x.shape[1]) * channels
        with k.launch(_GPU_THREADS, ceildiv(values, _GPU_THREADS)) as (thread, group):
            number = k.let(group * _GPU_THREADS + thread)
            t, c = k.let(number // channels), k.let(number % channels)
            slope = call.get_float("slope")
            following = k.zeros()
            with k.when(t < valid_steps):
                here = activate_value(k, k.let(x[0, t, c]), c, norm, None, slope)
                with k.when(t + 1 < valid_steps):
                    k.store(following, activate_value(k, k.let(x[0, t + 1, c]), c, norm, None, slope), 0)
                before, middle, after = (k.let(weight[c, 0, tap]) for tap in range(3))
                k.store(y, here * middle + bias[c], 0, 2 * t, c)
                k.store(y, here * after + following[0] * before + bias[c], 0, 2 * t + 1, c)
    return k.build()


@semantic_op(_infer_shape, cpu=OpImplementation(_build_cpu_kernel), gpu=OpImplementation(_build_gpu_kernel))
def upsample_pool(
    x: Tensor,
    weight: Tensor,
    bias: Tensor,
    norm: Tensor | None = None,
    length: Tensor | None = None,
    *,
    slope: float = 1.0,
) -> Tensor:
    """Compute conv_transpose(act(norm(x))): stride 2, three taps per channel, padding and output padding 1.

    Args:
        x: (1, T, C).
        weight: (C, 1, 3).
        bias: (C,).
        norm: (3, C).
        length: int64 (1,), valid steps of x.
        slope: Of the leaky ReLU, 1.0 for none.

    Returns:
        (1, 2T, C).
    """
    y = activate(crop_valid(x, length), norm, None, slope).transpose(1, 2)
    y = F.conv_transpose1d(y, weight, bias, stride=2, padding=1, output_padding=1, groups=x.shape[2])
    return pad_steps(y.transpose(1, 2), 2 * x.shape[1])
