"""GPU kernels in every language that TVM prints."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import pytest
import torch
import tvm

from kokoro_tvm.compiler.codegen import extract_device_code
from kokoro_tvm.kernels.base.semantic import registry

from .on_gpu import AS_CPP, GPUS
from .samples import (
    SAMPLES,
    STEPS,
    Use,
    adain_coefficients,
    assert_moments,
    attention,
    conv1d,
    conv_transpose1d,
    embedding,
    gelu,
    harmonic_source,
    join,
    layer_norm,
    linear,
    lstm,
    moments,
    normal_noise,
    project,
    upsample_pool,
)
from .support import kernel_for, reference, results, run

TARGETS = {
    "cuda": {"kind": "cuda", "arch": "sm_90"},
    "metal": {"kind": "metal"},
    "webgpu": {"kind": "webgpu"},
}
# What the samples have in small, as Kokoro has it.
LARGE: dict[str, Use] = {
    "adain_coefficients": adain_coefficients(1090),
    "attention": attention(12, 64),
    "conv1d": conv1d(1090, 1024, 3, stride=1, dilation=1, padding=1, tolerant=False),
    "conv1d dilated": conv1d(256, 256, 11, stride=1, dilation=5, padding=25, tolerant=True),
    "conv1d strided": conv1d(22, 256, 12, stride=6, dilation=1, padding=3, tolerant=True),
    "conv_transpose1d": conv_transpose1d(512, 256, 10, lead=False, tolerant=True),
    "conv_transpose1d leading": conv_transpose1d(256, 128, 6, lead=True, tolerant=True),
    "embedding": embedding(178, 512),
    "gelu": gelu(2048),
    "harmonic_source": harmonic_source(300, 9),
    "join": join(1024, 64, 1, 1),
    "layer_norm": layer_norm(768, 1.0),
    "linear": linear(128, 2180),
    "lstm": lstm(256),
    "moments": moments(1024),
    "normal_noise": normal_noise(300, 1),
    "project": project(256),
    "upsample_pool": upsample_pool(1090, 0.2),
}
OPERATIONS = sorted(registry())


@cache
def kernels(operation: str) -> list[Any]:
    tensors, attributes = SAMPLES[operation]
    masked = {"length": torch.tensor([STEPS])} if "length" in registry()[operation].tensors else {}
    return [
        kernel_for(operation, arguments, attributes, dynamic=dynamic, machine=GPUS["cuda"])
        for arguments, dynamic in ((tensors, True), (tensors | masked, False))
    ]


@pytest.mark.parametrize("kind", TARGETS)
@pytest.mark.parametrize("operation", OPERATIONS)
def test_gpu_kernel_is_one_launch_of_32_bit_types(operation: str, kind: str) -> None:
    """Build without a length, and with one if the operation takes it."""
    for function in kernels(operation):
        target = tvm.target.Target(TARGETS[kind], {"kind": "llvm"})
        code = extract_device_code(tvm.tirx.build(tvm.IRModule({operation: function}), target))
        (kernel,) = code.functions.values()
        assert "threadIdx.x" in kernel.launch
        assert not [argument for argument in kernel.arguments if argument[0] != 3 and argument[1] != 32]
        body = code.source.rpartition("#endif")[2] if kind == "cuda" else code.source
        assert not re.search(r"\b(double|int64_t|long|f64|i64)\b", body)
        assert body.count("var<storage") <= 10


@AS_CPP
@pytest.mark.parametrize("name", LARGE)
def test_gpu_kernels_of_kokoro_fit_workgroup(name: str) -> None:
    """Check shared memory, threads and registers, and the result."""
    operation, use = name.split()[0], LARGE[name]
    tensors = use.tensors(max(5, use.shortest))
    actual = run(operation, tensors, use.attributes, machine=GPUS["cuda"])
    use.near(actual, reference(operation, tensors, use.attributes))


@AS_CPP
@pytest.mark.parametrize(
    "name", ["conv1d", "conv1d dilated", "conv_transpose1d", "conv_transpose1d leading", "join"]
)
def test_gpu_kernels_with_moments_fit_workgroup(name: str) -> None:
    operation, use = name.split()[0], LARGE[name]
    tensors = use.tensors(70)
    y, left = results(operation, tensors, use.attributes, machine=GPUS["cuda"], moments=True)
    use.near(y, reference(operation, tensors, use.attributes))
    assert_moments(left, reference("moments", {"x": torch.from_numpy(y)}))
