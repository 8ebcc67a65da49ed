from __future__ import annotations

import pytest

from kokoro_tvm.targets import Machine

from .support import check, machines, random


@machines
@pytest.mark.parametrize("outputs", [1, 63, 64, 65, 130])
@pytest.mark.parametrize("inputs", [1, 128])
def test_linear_matches_reference(inputs: int, outputs: int, machine: Machine) -> None:
    tensors = {
        "x": random(1, inputs),
        "weight": random(outputs, inputs, seed=2),
        "bias": random(outputs, seed=3),
    }
    check("linear", tensors, machine=machine)
