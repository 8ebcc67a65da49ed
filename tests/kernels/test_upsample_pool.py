from __future__ import annotations

import pytest
import torch

from kokoro_tvm.targets import Machine

from .support import check, check_masked, machines, random, random_lengths, run

CHANNELS = 21


def tensors(steps: int, norm: bool = True) -> dict[str, torch.Tensor | None]:
    return {
        "x": random(1, steps, CHANNELS),
        "weight": random(CHANNELS, 1, 3, seed=2),
        "bias": random(CHANNELS, seed=3),
        "norm": random(3, CHANNELS, seed=4) if norm else None,
    }


@machines
@pytest.mark.parametrize("norm", [True, False])
def test_upsample_pool_matches_reference_at_every_length(norm: bool, machine: Machine) -> None:
    def holds(steps: int) -> None:
        check("upsample_pool", tensors(steps, norm), {"slope": 0.2}, machine=machine)

    random_lengths(holds, 700)


@machines
def test_upsample_pool_matches_reference_when_masked(machine: Machine) -> None:
    given_tensors = tensors(130)

    def holds(length: int) -> None:
        check_masked("upsample_pool", given_tensors, {"slope": 0.2}, length=length, machine=machine)

    random_lengths(holds, 130)


@machines
def test_upsample_pool_accepts_static_shape(machine: Machine) -> None:
    for slope in (1.0, 0.2):
        arguments = tensors(37), {"slope": slope}
        actual = check("upsample_pool", *arguments, dynamic=False, machine=machine)
        assert actual.tobytes() == run("upsample_pool", *arguments, machine=machine).tobytes()
