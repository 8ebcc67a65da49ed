from __future__ import annotations

import pytest

from kernels.support import random

from .conftest import Kernel
from .sizes import FRAMES, TOKENS

HIDDEN = 256


@pytest.mark.parametrize("steps", [TOKENS, FRAMES])
def test_lstm(steps: int, kernel: Kernel) -> None:
    """Both directions, their input projections done before."""
    tensors = {name: random(1, steps, 4 * HIDDEN, seed=i) for i, name in enumerate(("forward", "backward"))}
    for i, name in enumerate(("forward", "backward")):
        tensors[f"weight_{name}"] = random(4 * HIDDEN, HIDDEN, seed=10 + i) / HIDDEN**0.5
        tensors[f"bias_{name}"] = random(4 * HIDDEN, seed=20 + i)
    kernel("lstm", tensors, flops=16 * steps * HIDDEN**2)
