from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from kokoro_tvm.common.features import Features
from kokoro_tvm.targets import Machine

from .support import NATIVE, check, check_masked, kernel_for, machines, random, random_lengths, run

CHANNELS = 21


def tensors(steps: int, mean: float = 0.0, spread: float = 1.0) -> dict[str, torch.Tensor | None]:
    return {
        "x": random(1, steps, CHANNELS) * spread + mean,
        "weight": random(CHANNELS, seed=2),
        "bias": random(CHANNELS, seed=3),
    }


@machines
@pytest.mark.parametrize("slope", [1.0, 0.2])
def test_layer_norm_matches_reference_at_every_length(slope: float, machine: Machine) -> None:
    def holds(steps: int) -> None:
        check("layer_norm", tensors(steps), {"eps": 1e-5, "slope": slope}, machine=machine)

    random_lengths(holds, 700)


@machines
@pytest.mark.parametrize(
    ("mean", "spread", "limit"), [(100.0, 0.01, 2e-3), (1e4, 1.0, 2e-3), (0.0, 1e-6, 2e-6)]
)
def test_layer_norm_keeps_precision_of_large_means(
    mean: float, spread: float, limit: float, machine: Machine
) -> None:
    check("layer_norm", tensors(40, mean, spread), {"eps": 1e-5}, machine=machine, tolerance=limit)


@machines
def test_layer_norm_matches_reference_when_masked(machine: Machine) -> None:
    given_tensors = tensors(130)

    def holds(length: int) -> None:
        check_masked(
            "layer_norm", given_tensors, {"eps": 1e-12, "slope": 0.2}, length=length, machine=machine
        )

    random_lengths(holds, 130)


def test_layer_norm_accepts_static_shape() -> None:
    arguments = tensors(37), {"eps": 1e-5, "slope": 0.2}
    actual = check("layer_norm", *arguments, dynamic=False)
    assert actual.tobytes() == run("layer_norm", *arguments).tobytes()


def test_layer_norm_uses_partial_sums_without_vectors() -> None:
    """Expect less than the error of a single sum over all channels of BERT, which is 8 dB larger."""
    machines = (replace(NATIVE, features=Features(lanes, registers=32)) for lanes in (1, 4))
    one, four = (kernel_for("layer_norm", tensors(9), {"eps": 1e-5}, machine=m).script() for m in machines)
    assert one == four
