from __future__ import annotations

import pytest

from kernels.support import random

from .conftest import Kernel
from .sizes import FIRST, FRAMES, SECOND, TOKENS


@pytest.mark.parametrize("channels", [768, 512, 128])
def test_layer_norm(channels: int, kernel: Kernel) -> None:
    """Mean, variance, application."""
    tensors = {
        "x": random(1, TOKENS, channels),
        "weight": random(channels, seed=2),
        "bias": random(channels, seed=3),
    }
    kernel("layer_norm", tensors, {"eps": 1e-5}, flops=8 * TOKENS * channels)


@pytest.mark.parametrize(("steps", "channels"), [(SECOND, 128), (FIRST, 256), (FRAMES, 1090)])
def test_moments(steps: int, channels: int, kernel: Kernel) -> None:
    """A difference, its sum and that of its square."""
    kernel("moments", {"x": random(1, steps, channels)}, flops=4 * steps * channels)


@pytest.mark.parametrize(("steps", "channels"), [(SECOND, 128), (FIRST, 256)])
def test_coefficients(steps: int, channels: int, kernel: Kernel) -> None:
    slots = steps // 64 + 16
    tensors = {
        "moments": random(slots, 4, channels).abs(),
        "style": random(1, 128, seed=2),
        "style_weight": random(2 * channels, 128, seed=5),
        "style_bias": random(2 * channels, seed=6),
        "weight": random(channels, seed=3),
        "bias": random(channels, seed=4),
    }
    kernel("adain_coefficients", tensors, flops=(12 * slots + 4 * 128) * channels)
