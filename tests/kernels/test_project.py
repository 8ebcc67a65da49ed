from __future__ import annotations

import numpy as np
import torch

from kokoro_tvm.targets import Machine

from .support import check_masked, machines, random, random_lengths, reference, run


def tensors(steps: int, channels: int = 21) -> dict[str, torch.Tensor | None]:
    return {
        "x": random(1, steps, channels),
        "weight": random(1, channels, 1, seed=2),
        "bias": random(1, seed=3),
    }


@machines
def test_project_rounds_once_at_every_length(machine: Machine) -> None:
    def holds(steps: int) -> None:
        actual = run("project", tensors(steps), machine=machine)
        want = reference("project", tensors(steps))
        assert (np.abs(actual - want) <= 0.5001 * np.spacing(np.abs(actual))).all()

    random_lengths(holds, 700)


@machines
def test_project_matches_reference_when_masked(machine: Machine) -> None:
    given_tensors = tensors(130)

    def holds(length: int) -> None:
        check_masked("project", given_tensors, length=length, machine=machine)

    random_lengths(holds, 130)


def test_project_accepts_static_shape() -> None:
    assert run("project", tensors(37), dynamic=False).tobytes() == run("project", tensors(37)).tobytes()
