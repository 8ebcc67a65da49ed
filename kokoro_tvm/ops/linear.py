"""One vector through a fully connected layer: the style's way into every normalisation.

Summed in float64, or as well as that: what comes out is the same at every step, so its error does not
average out over an utterance.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch.nn.functional as F
from torch import Tensor
from tvm import relax, tirx

from kokoro_tvm.ops.base.expressions import Cast, ceildiv, const, logical_and
from kokoro_tvm.ops.base.math import dtype
from kokoro_tvm.ops.base.semantic import Call, HandKernel, Packing, Shape, semantic_op
from kokoro_tvm.ops.cpu.kernel import Kernel
from kokoro_tvm.ops.gpu.exact import Exact
from kokoro_tvm.ops.gpu.fold import fold
from kokoro_tvm.ops.gpu.kernel import GpuKernel

__all__ = ["linear"]


def _shape(*, x: Shape, weight: Shape, **_: Any) -> Shape:
    return (1, weight[0])


_BLOCK_VECTORS = 4


def _width(call: Call) -> int:
    return _BLOCK_VECTORS * call.features.lanes


def _kernel(call: Call) -> Any:
    outputs, inputs = (int(extent) for extent in call.shapes["weight"])
    lanes, width = call.features.lanes, _width(call)
    blocks = -(-outputs // width)
    k = Kernel("linear", lanes)
    with k:
        x = k.param("x", (1, inputs))
        weight = k.param("weight", (blocks, inputs, width))
        bias = k.param("bias", (outputs,))
        y = k.param("y", (1, outputs))
        wide = dtype(lanes, "float64")
        with k.loop(blocks) as block:
            acc = [k.registers(lanes, "float64") for _ in range(_BLOCK_VECTORS)]
            for register in acc:
                k.store(register, const(0.0, wide), 0, lanes=lanes)
            with k.loop(inputs) as i:
                factor = k.let(k.splat(Cast("float64", x[0, i]), lanes))
                for v, register in enumerate(acc):
                    row = Cast(wide, k.load(weight, block, i, v * lanes, lanes=lanes))
                    k.store(register, k.load(register, 0, lanes=lanes) + factor * row, 0, lanes=lanes)
            for v, register in enumerate(acc):
                for lane in range(lanes):
                    at = k.let(block * width + (v * lanes + lane))
                    with k.when(at < outputs):
                        k.store(y, Cast("float32", register[lane] + Cast("float64", bias[at])), 0, at)
    return k.build()


def _packings(call: Call) -> Mapping[str, Packing]:
    width = _width(call)

    def pack(weight: np.ndarray) -> np.ndarray:
        outputs, inputs = weight.shape
        padded = np.zeros((-(-outputs // width) * width, inputs), np.float32)
        padded[:outputs] = weight
        return np.ascontiguousarray(padded.reshape(-1, width, inputs).transpose(0, 2, 1))

    return {"weight": Packing(f"linear(width={width})", pack)}


_COLUMNS, _SLICES = 32, 8  # of a workgroup: outputs, and parts of the inputs, each of which a thread sums


def _gpu_kernel(call: Call) -> Any:
    outputs, inputs = (int(extent) for extent in call.shapes["weight"])
    threads = _COLUMNS * _SLICES
    k = GpuKernel("linear", call.features)
    with k:
        x = k.param("x", (1, inputs))
        weight = k.param("weight", (inputs, ceildiv(outputs, _COLUMNS) * _COLUMNS))
        bias = k.param("bias", (outputs,))
        y = k.param("y", (1, outputs))
        with k.launch(threads, ceildiv(outputs, _COLUMNS)) as (thread, block):
            exact, sums = Exact(k, thread), k.registers(2)
            for part in range(2):
                k.store(sums, const(0.0, "float32"), part)
            at = k.let(block * _COLUMNS + tirx.truncmod(thread, _COLUMNS))
            with k.shares(inputs, k.let(tirx.truncdiv(thread, _COLUMNS)), _SLICES) as i:
                exact.add_product(sums, k.let(x[0, i]), k.let(weight[i, at]))
            upper, lower = fold(k, thread, threads, [sums[0], sums[1]], exact.added, _COLUMNS)
            with k.when(logical_and(thread < _COLUMNS, at < outputs)):
                total = exact.added((upper, lower), (bias[at], const(0.0, "float32")))
                k.store(y, exact.rounded(total), 0, at)
    return k.build()


def _gpu_packings(call: Call) -> Mapping[str, Packing]:
    """Neighbouring threads have neighbouring outputs, and read neighbouring weights."""

    def pack(weight: np.ndarray) -> np.ndarray:
        outputs, inputs = weight.shape
        packed = np.zeros((inputs, ceildiv(outputs, _COLUMNS) * _COLUMNS), np.float32)
        packed[:, :outputs] = weight.T
        return packed

    return {"weight": Packing(f"gpu_linear(columns={_COLUMNS})", pack)}


def _decomposed(b: Any, x: Any, weight: Any, bias: Any) -> Any:
    return b.emit(relax.op.matmul(x, b.emit(relax.op.permute_dims(weight)))) + bias


@semantic_op(
    shape=_shape,
    decomposition=_decomposed,
    kernels={"cpu": HandKernel(_kernel, _packings), "gpu": HandKernel(_gpu_kernel, _gpu_packings)},
)
def linear(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """x @ weight.T + bias. x (1, I); weight (O, I); bias (O,) -> (1, O)."""
    return F.linear(x.double(), weight.double(), bias.double()).to(x.dtype)
