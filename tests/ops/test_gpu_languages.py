"""Kernels for GPUs in every language that TVM prints them in."""

from __future__ import annotations

import re

import pytest
import torch
import tvm

from kokoro_tvm.compiler.device import device_code
from kokoro_tvm.ops.base.semantic import registry

from .on_gpu import GPUS
from .samples import SAMPLES, STEPS, Use, attention, embedding, gelu, layer_norm, linear, lstm, project
from .support import kernel_for, reference, run

TARGETS = {
    "cuda": {"kind": "cuda", "arch": "sm_90"},
    "metal": {"kind": "metal"},
    "webgpu": {"kind": "webgpu"},
}
# What the samples have in small, as Kokoro has it.
LARGE: dict[str, Use] = {
    "attention": attention(12, 64),
    "embedding": embedding(178, 512),
    "gelu": gelu(2048),
    "layer_norm": layer_norm(768, 1.0),
    "linear": linear(128, 2180),
    "lstm": lstm(256),
    "project": project(256),
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


@pytest.mark.parametrize("operation", LARGE)
def test_kokoro_s_sizes_keep_within_a_workgroup(operation: str) -> None:
    """Shared memory, threads and registers; and the result is right."""
    use = LARGE[operation]
    tensors = use.tensors(5)
    got = run(operation, tensors, use.attributes, machine=GPUS["cuda"])
    use.near(got, reference(operation, tensors, use.attributes))
