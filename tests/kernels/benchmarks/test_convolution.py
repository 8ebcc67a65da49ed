from __future__ import annotations

import pytest

from kernels.support import BFLOAT16, NATIVE, needs_bfloat16, random
from kokoro_tvm.targets import Machine

from .conftest import Kernel
from .sizes import FIRST, FRAMES, SECOND, TOKENS

LAYERS = [
    (channels, taps, dilation) for channels in (128, 256) for taps in (3, 7, 11) for dilation in (1, 3, 5)
]


@pytest.mark.parametrize(
    ("machine", "tolerant"),
    [
        pytest.param(NATIVE, True, id="filtered"),
        pytest.param(NATIVE, False, id="direct"),
        pytest.param(BFLOAT16, True, id="bfloat16", marks=needs_bfloat16),
    ],
)
@pytest.mark.parametrize(("channels", "taps", "dilation"), LAYERS)
def test_generator(
    channels: int, taps: int, dilation: int, machine: Machine, tolerant: bool, kernel: Kernel
) -> None:
    """Behind AdaIN and Snake, leaving the moments of its result behind."""
    steps = SECOND if channels == 128 else FIRST
    tensors = {
        "x": random(1, steps, channels),
        "weight": random(channels, channels, taps, seed=2),
        "bias": random(channels, seed=3),
        "norm": random(3, channels, seed=4),
        "alpha": random(channels, seed=5).abs() + 0.1,
    }
    attributes = {"padding": dilation * (taps - 1) // 2, "dilation": dilation, "tolerant": tolerant}
    kernel("conv1d", tensors, attributes, flops=2 * steps * channels**2 * taps, moments=True, machine=machine)


@pytest.mark.parametrize(
    ("inputs", "outputs", "taps", "stride", "padding", "steps"),
    [
        pytest.param(1090, 1024, 3, 1, 1, FRAMES, id="decoder"),
        pytest.param(512, 512, 5, 1, 2, TOKENS, id="text encoder"),
        pytest.param(128, 22, 7, 1, 3, SECOND, id="head"),
        pytest.param(22, 256, 12, 6, 3, SECOND, id="source, strided"),
        pytest.param(22, 128, 1, 1, 0, SECOND, id="source"),
    ],
)
def test_others(
    inputs: int, outputs: int, taps: int, stride: int, padding: int, steps: int, kernel: Kernel
) -> None:
    tensors = {
        "x": random(1, steps, inputs),
        "weight": random(outputs, inputs, taps, seed=2),
        "bias": random(outputs, seed=3),
    }
    result = (steps + 2 * padding - taps) // stride + 1
    flops = 2 * result * inputs * outputs * taps
    kernel("conv1d", tensors, {"padding": padding, "stride": stride}, flops=flops)
