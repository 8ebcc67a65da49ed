"""One vector through a fully connected layer: the style's way into every normalisation.

Summed in float64: what comes out is the same at every step, so its error does not average out over an
utterance.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch.nn.functional as F
from torch import Tensor
from tvm import relax

from kokoro_tvm.ops.base.expressions import Cast, const
from kokoro_tvm.ops.base.math import dtype
from kokoro_tvm.ops.base.semantic import Call, HandKernel, Packing, Shape, semantic_op
from kokoro_tvm.ops.cpu.kernel import Kernel

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


def _decomposed(b: Any, x: Any, weight: Any, bias: Any) -> Any:
    return b.emit(relax.op.matmul(x, b.emit(relax.op.permute_dims(weight)))) + bias


@semantic_op(shape=_shape, decomposition=_decomposed, kernels={"cpu": HandKernel(_kernel, _packings)})
def linear(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """x @ weight.T + bias. x (1, I); weight (O, I); bias (O,) -> (1, O)."""
    return F.linear(x.double(), weight.double(), bias.double()).to(x.dtype)
