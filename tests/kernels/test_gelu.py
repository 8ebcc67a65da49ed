from __future__ import annotations

import numpy as np
import torch

from kokoro_tvm.targets import Machine

from .support import check, machines, random, random_lengths, run


@machines
def test_gelu_matches_reference_at_every_length(machine: Machine) -> None:
    def holds(steps: int) -> None:
        check("gelu", {"x": random(1, steps, 21) * 3}, machine=machine, tolerance=5e-7)

    random_lengths(holds, 700)


@machines
def test_gelu_saturates_far_from_zero(machine: Machine) -> None:
    x = torch.linspace(-60, 60, 4001).reshape(1, 1, -1)
    actual = check("gelu", {"x": x}, machine=machine, tolerance=2e-7)
    assert np.array_equal(actual[x.numpy() > 6], x.numpy()[x.numpy() > 6])


def test_gelu_accepts_static_shape() -> None:
    x = random(1, 37, 3)
    assert check("gelu", {"x": x}, dynamic=False).tobytes() == run("gelu", {"x": x}).tobytes()
