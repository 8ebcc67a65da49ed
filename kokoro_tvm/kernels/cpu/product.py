"""Product of a vector and a matrix inside a CPU kernel, summed in float64."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kokoro_tvm.kernels.base.expressions import Cast, const
from kokoro_tvm.kernels.base.math import dtype
from kokoro_tvm.kernels.base.semantic import Packing
from kokoro_tvm.kernels.cpu.kernel import CpuKernel

_BLOCK_VECTORS = 4


def emit(
    k: CpuKernel, lanes: int, x: Any, weight: Any, bias: Any, outputs: int, put: Callable[[Any, Any], None]
) -> None:
    """Emit weight @ x + bias, summed in float64.

    Args:
        k: The kernel.
        lanes: Lanes of a vector.
        x: (1, I).
        weight: Packed by `packing`.
        bias: (O,).
        outputs: O.
        put: Called as put(output, value) for every output.
    """
    blocks, inputs, width = (int(extent) for extent in weight.shape)
    wide = dtype(lanes, "float64")
    with k.loop(blocks) as block:
        acc = [k.registers(lanes, "float64") for _ in range(_BLOCK_VECTORS)]
        for register in acc:
            k.store(register, const(0.0, wide), 0, lanes=lanes)
        with k.loop(inputs) as i:
            factor = k.let(k.broadcast(Cast("float64", x[0, i]), lanes))
            for v, register in enumerate(acc):
                row = Cast(wide, k.load(weight, block, i, v * lanes, lanes=lanes))
                k.accumulate(register, factor * row, 0, lanes=lanes)
        for v, register in enumerate(acc):
            for lane in range(lanes):
                at = k.let(block * width + (v * lanes + lane))
                with k.when(at < outputs):
                    put(at, Cast("float32", register[lane] + Cast("float64", bias[at])))


def packed_shape(outputs: int, inputs: int, lanes: int) -> tuple[int, int, int]:
    """Return the shape of weights that `packing` packs."""
    width = _BLOCK_VECTORS * lanes
    return -(-outputs // width), inputs, width


def packing(lanes: int) -> Packing:
    """Return the packing of weights for `emit`."""
    width = _BLOCK_VECTORS * lanes

    def arrange(weight: np.ndarray) -> np.ndarray:
        outputs, inputs = weight.shape
        padded = np.zeros((-(-outputs // width) * width, inputs), np.float32)
        padded[:outputs] = weight
        return np.ascontiguousarray(padded.reshape(-1, width, inputs).transpose(0, 2, 1))

    return Packing(f"linear(width={width})", arrange, width)
