"""Kernels for GPUs in every language that TVM prints them in."""

from __future__ import annotations

import re

import pytest
import torch
import tvm

from kokoro_tvm.compiler.device import device_code
from kokoro_tvm.ops.base.semantic import registry

from .on_gpu import GPUS
from .samples import SAMPLES, STEPS
from .support import kernel_for

TARGETS = {
    "cuda": {"kind": "cuda", "arch": "sm_90"},
    "metal": {"kind": "metal"},
    "webgpu": {"kind": "webgpu"},
}
OPERATIONS = sorted(name for name, op in registry().items() if "gpu" in op.kernels)


@pytest.mark.parametrize("kind", TARGETS)
@pytest.mark.parametrize("operation", OPERATIONS)
def test_is_one_launch_of_narrow_types(operation: str, kind: str) -> None:
    """Without a length, and with one where the operation takes it."""
    tensors, attributes = SAMPLES[operation]
    masked = {"length": torch.tensor([STEPS])} if "length" in registry()[operation].tensors else {}
    for given, dynamic in ((tensors, True), (tensors | masked, False)):
        function = kernel_for(operation, given, attributes, dynamic=dynamic, machine=GPUS["cuda"])
        target = tvm.target.Target(TARGETS[kind], {"kind": "llvm"})
        code = device_code(tvm.tirx.build(tvm.IRModule({operation: function}), target))
        (kernel,) = code.functions.values()
        assert "threadIdx.x" in kernel.launch
        assert not [argument for argument in kernel.arguments if argument[0] != 3 and argument[1] != 32]
        body = code.source.rpartition("#endif")[2] if kind == "cuda" else code.source
        assert not re.search(r"\b(double|int64_t|long|f64|i64)\b", body)
        assert body.count("var<storage") <= 10
