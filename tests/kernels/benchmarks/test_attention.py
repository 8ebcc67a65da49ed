from __future__ import annotations

import pytest

from kernels.support import random

from .conftest import Kernel
from .sizes import TOKENS


@pytest.mark.parametrize("tokens", [TOKENS, 15, 345])
def test_attention(tokens: int, kernel: Kernel) -> None:
    names = ("query", "key", "value")
    tensors = {name: random(1, tokens, 768, seed=i) for i, name in enumerate(names)}
    kernel("attention", tensors, {"heads": 12}, flops=4 * tokens**2 * 768)


def test_activation(kernel: Kernel) -> None:
    """A tanh counts as one, as every elementary function does."""
    kernel("gelu", {"x": random(1, TOKENS, 2048)}, flops=8 * TOKENS * 2048)


def test_embedding(kernel: Kernel) -> None:
    """A copy: no arithmetic at all."""
    tensors = {"weight": random(178, 128), "ids": random(1, TOKENS).abs().mul(40).long()}
    kernel("embedding", tensors, flops=0)
