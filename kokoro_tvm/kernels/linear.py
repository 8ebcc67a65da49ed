"""Fully connected layer of one vector: projects the style for every normalization.

Summed in float64, or as accurately: the result is the same at every step, so its error does not average out
over an utterance.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch.nn.functional as F
from torch import Tensor
from tvm import tirx

from kokoro_tvm.kernels.base.expressions import ceildiv, logical_and, minimum
from kokoro_tvm.kernels.base.semantic import OpCall, OpImplementation, Packing, Shape, semantic_op
from kokoro_tvm.kernels.cpu import product as cpu_product
from kokoro_tvm.kernels.cpu.kernel import CpuKernel
from kokoro_tvm.kernels.gpu.exact import COLUMNS, THREADS, product
from kokoro_tvm.kernels.gpu.kernel import GpuKernel


def _infer_shape(*, x: Shape, weight: Shape, **_: Any) -> Shape:
    return (1, weight[0])


def _build_cpu_kernel(call: OpCall) -> Any:
    outputs, inputs = (int(extent) for extent in call.shapes["weight"])
    lanes = call.features.lanes
    k = CpuKernel("linear", lanes)
    with k:
        x = k.param("x", (1, inputs))
        weight = k.param("weight", cpu_product.packed_shape(outputs, inputs, lanes))
        bias = k.param("bias", (outputs,))
        y = k.param("y", (1, outputs))
        cpu_product.emit(k, lanes, x, weight, bias, outputs, lambda at, value: k.store(y, value, 0, at))
    return k.build()


def _get_packings(call: OpCall) -> Mapping[str, Packing]:
    return {"weight": cpu_product.packing(call.features.lanes)}


def _build_gpu_kernel(call: OpCall) -> Any:
    outputs, inputs = (int(extent) for extent in call.shapes["weight"])
    k = GpuKernel("linear", call.features)
    with k:
        x = k.param("x", (1, inputs))
        weight = k.param("weight", (inputs, ceildiv(outputs, COLUMNS) * COLUMNS))
        bias = k.param("bias", (outputs,))
        y = k.param("y", (1, outputs))
        with k.launch(THREADS, ceildiv(outputs, COLUMNS)) as (thread, block):
            at = k.let(block * COLUMNS + tirx.truncmod(thread, COLUMNS))
            result = product(k, thread, x, weight, bias, at, k.let(minimum(at, outputs - 1)))
            with k.when(logical_and(thread < COLUMNS, at < outputs)):
                k.store(y, result, 0, at)
    return k.build()


def _get_gpu_packings(call: OpCall) -> Mapping[str, Packing]:
    """Pack the weight so that neighbouring threads, which have neighbouring outputs, read neighbours."""

    def pack(weight: np.ndarray) -> np.ndarray:
        outputs, inputs = weight.shape
        packed = np.zeros((inputs, ceildiv(outputs, COLUMNS) * COLUMNS), np.float32)
        packed[:, :outputs] = weight.T
        return packed

    return {"weight": Packing(f"gpu_linear(columns={COLUMNS})", pack)}


@semantic_op(
    _infer_shape,
    cpu=OpImplementation(_build_cpu_kernel, _get_packings),
    gpu=OpImplementation(_build_gpu_kernel, _get_gpu_packings),
)
def linear(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """Compute x @ weight.T + bias, rounded once.

    Args:
        x: (1, I).
        weight: (O, I).
        bias: (O,).

    Returns:
        (1, O).
    """
    return F.linear(x.double(), weight.double(), bias.double()).to(x.dtype)
