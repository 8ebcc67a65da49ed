"""One vector through a fully connected layer: the style's way into every normalisation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch.nn.functional as F
from torch import Tensor

from kokoro_tvm.ops._kernel import Kernel, const
from kokoro_tvm.ops._math import dtype
from kokoro_tvm.ops._semantic import Call, Packing, Shape, semantic_op

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
        with k.loop(blocks) as block:
            acc = k.registers(width)
            for v in range(_BLOCK_VECTORS):
                k.store(acc, const(0.0, dtype(lanes)), v * lanes, lanes=lanes)
            with k.loop(inputs) as i:
                factor = k.let(k.splat(x[0, i], lanes))
                for v in range(_BLOCK_VECTORS):
                    row = k.load(weight, block, i, v * lanes, lanes=lanes)
                    k.store(acc, k.load(acc, v * lanes, lanes=lanes) + factor * row, v * lanes, lanes=lanes)
            for out in range(width):
                at = k.let(block * width + out)
                with k.when(at < outputs):
                    k.store(y, acc[out] + bias[at], 0, at)
    return k.build()


def _packings(call: Call) -> Mapping[str, Packing]:
    width = _width(call)

    def pack(weight: np.ndarray) -> np.ndarray:
        outputs, inputs = weight.shape
        padded = np.zeros((-(-outputs // width) * width, inputs), np.float32)
        padded[:outputs] = weight
        return np.ascontiguousarray(padded.reshape(-1, width, inputs).transpose(0, 2, 1))

    return {"weight": Packing(f"linear(width={width})", pack)}


@semantic_op(shape=_shape, kernel=_kernel, packings=_packings)
def linear(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """x @ weight.T + bias. x (1, I); weight (O, I); bias (O,) -> (1, O)."""
    return F.linear(x, weight, bias)
