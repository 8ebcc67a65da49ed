from __future__ import annotations

import pytest

from kernels.support import BFLOAT16, NATIVE, needs_bfloat16, random
from kokoro_tvm.targets import Machine

from .conftest import Kernel
from .sizes import FIRST, FRAMES, HALF_FRAMES


@pytest.mark.parametrize(
    ("inputs", "stride", "lead", "steps"),
    [
        pytest.param(512, 10, False, HALF_FRAMES, id="first"),
        pytest.param(256, 6, True, FIRST, id="second"),
    ],
)
@pytest.mark.parametrize(
    "machine", [NATIVE, pytest.param(BFLOAT16, marks=needs_bfloat16)], ids=["float32", "bfloat16"]
)
def test_transposed_convolution(
    inputs: int, stride: int, lead: bool, steps: int, machine: Machine, kernel: Kernel
) -> None:
    outputs = inputs // 2
    tensors = {
        "x": random(1, steps, inputs),
        "weight": random(inputs, outputs, 2 * stride, seed=2),
        "bias": random(outputs, seed=3),
        "residual": random(1, steps * stride + lead, outputs, seed=4),
    }
    flops = 4 * steps * stride * inputs * outputs
    attributes = {"stride": stride, "slope": 0.1, "lead": lead, "tolerant": True}
    kernel("conv_transpose1d", tensors, attributes, flops=flops, machine=machine)


@pytest.mark.parametrize(("channels", "steps"), [(1090, FRAMES), (512, FRAMES)])
def test_pool(channels: int, steps: int, kernel: Kernel) -> None:
    tensors = {
        "x": random(1, steps, channels),
        "weight": random(channels, 1, 3, seed=2),
        "bias": random(channels, seed=3),
        "norm": random(3, channels, seed=4),
    }
    kernel("upsample_pool", tensors, {"slope": 0.2}, flops=6 * steps * channels)


def test_join(kernel: Kernel) -> None:
    """What the decoder's blocks take: the block before, the text, the pitch and the energy."""
    widths = {"a": 1024, "b": 64, "c": 1, "d": 1}
    tensors = {name: random(1, FRAMES, width, seed=width) for name, width in widths.items()}
    kernel("join", tensors, {}, flops=0)
