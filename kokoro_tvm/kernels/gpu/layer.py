"""A convolution over time as the GPU kernels compute it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from kokoro_tvm.common.errors import BuildError
from kokoro_tvm.kernels.base.expressions import const, select
from kokoro_tvm.kernels.base.math import sin_squared
from kokoro_tvm.kernels.base.semantic import OpCall
from kokoro_tvm.kernels.gpu.kernel import GpuKernel


@dataclass(frozen=True)
class ConvLayer:
    """A convolution: the sum over taps j and channels c of read(t + j*dilation, c) * w[j, c, o].

    It is computed for every step t and output o.

    Attributes:
        weight: Packed by the kernel's tile.
        channels: Input channels.
        taps: Taps of the filter.
        dilation: Steps between taps.
        steps: Steps of the result.
        valid_steps: Number of valid steps, known only on the GPU; tiles beyond are skipped.
        outputs: Output channels.
        read: Called as read(row, channel) for rows up to the end of the last tile and its halo; returns an
            activated value of the input, zero outside.
        write: Called as write(step, output, sum) for valid results; returns the value that it wrote.
        moments: Buffer of the results' moments, if they are emitted; outputs are then whole tiles.
    """

    weight: Any
    channels: int
    taps: int
    dilation: int
    steps: Any
    valid_steps: Any
    outputs: int
    read: Callable[[Any, Any], Any]
    write: Callable[[Any, Any, Any], Any]
    moments: Any | None = None


def activate_value(
    k: GpuKernel, value: Any, c: Any, norm: Any | None, alpha: Any | None, slope: float
) -> Any:
    """Activate a value of channel `c`: see `kernels.base.semantic.activate`.

    Args:
        k: The kernel.
        value: The value.
        c: Its channel.
        norm: Buffer (3, C), or None.
        alpha: Buffer (C,), or None.
        slope: Of the leaky ReLU, 1.0 for none.
    """
    if norm is not None:
        value = k.let((value - norm[0, c]) * norm[1, c] + norm[2, c])
    if alpha is not None:
        a = k.let(alpha[c])
        return k.let(value + sin_squared(k, a * value) / a)
    if slope != 1.0:
        return select(value > const(0.0, "float32"), value, value * const(slope, "float32"))
    return value


def select_weight_dtype(call: OpCall) -> str:
    """Return the dtype of a packed weight in memory."""
    # float16 if the recipe asks for it and the layer tolerates it.
    return "float16" if call.features.precision == "float16" and call.attributes["tolerant"] else "float32"


def cast_weight(dtype: str, weight: np.ndarray) -> np.ndarray:
    """Cast a weight to the dtype in memory.

    Raises:
        BuildError: A value exceeds the dtype.
    """
    if (largest := np.abs(weight).max(initial=0.0)) > np.finfo(dtype).max:
        raise BuildError(f"{dtype} does not hold a weight of {largest}: use a recipe of precision float32")
    return np.ascontiguousarray(weight, dtype)
