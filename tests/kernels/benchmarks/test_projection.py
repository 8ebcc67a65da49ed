from __future__ import annotations

import pytest

from kernels.support import random

from .conftest import Kernel
from .sizes import HALF_FRAMES, TOKENS


@pytest.mark.parametrize(
    ("inputs", "outputs"), [(768, 2048), (2048, 768), (768, 768), (128, 768), (640, 1024)]
)
def test_matrix_product(inputs: int, outputs: int, kernel: Kernel) -> None:
    """BERT's layers and an LSTM's input projection."""
    tensors = {
        "x": random(1, TOKENS, inputs),
        "weight": random(outputs, inputs, seed=2),
        "bias": random(outputs, seed=3),
    }
    kernel("conv1d", tensors, flops=2 * TOKENS * inputs * outputs)


@pytest.mark.parametrize("outputs", [256, 2048])
def test_style(outputs: int, kernel: Kernel) -> None:
    tensors = {"x": random(1, 128), "weight": random(outputs, 128, seed=2), "bias": random(outputs, seed=3)}
    kernel("linear", tensors, flops=2 * 128 * outputs)


def test_pitch(kernel: Kernel) -> None:
    tensors = {
        "x": random(1, HALF_FRAMES, 256),
        "weight": random(1, 256, 1, seed=2),
        "bias": random(1, seed=3),
    }
    kernel("project", tensors, flops=2 * HALF_FRAMES * 256)
