from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kokoro_tvm.target import Machine

from .support import check, check_masked, machines, random, reference, run

CHANNELS = 21


def tensors(steps: int, mean: float = 0.0, spread: float = 1.0) -> dict[str, torch.Tensor | None]:
    return {
        "x": random(1, CHANNELS, steps) * spread + mean,
        "style": random(1, 2 * CHANNELS, seed=2),
        "weight": random(CHANNELS, seed=3),
        "bias": random(CHANNELS, seed=4),
    }


@machines
def test_every_length(machine: Machine) -> None:
    @settings(max_examples=25, deadline=None)
    @given(st.integers(2, 3000))
    @example(2)
    @example(1024)
    @example(1025)
    def holds(steps: int) -> None:
        got = run("adain_coefficients", tensors(steps), machine=machine)
        want = reference("adain_coefficients", tensors(steps))
        for row, expected in zip(got, want, strict=True):  # each in its own units
            assert np.abs(row - expected).max() <= 1e-6 * np.abs(expected).max()

    holds()


@machines
def test_one_step_has_no_variance(machine: Machine) -> None:
    check("adain_coefficients", tensors(1), machine=machine)


@machines
@pytest.mark.parametrize(
    ("mean", "spread", "limit"), [(0.0, 1.0, 5e-7), (100.0, 0.01, 1e-5), (1e4, 0.01, 1e-2), (-1e6, 1.0, 1e-2)]
)
@pytest.mark.parametrize("steps", [64, 5000])
def test_large_means_and_tiny_spreads(
    mean: float, spread: float, limit: float, steps: int, machine: Machine
) -> None:
    """E[x^2] - E[x]^2 would be all rounding error here, and negative now and then."""
    given_tensors = tensors(steps, mean, spread)
    got = run("adain_coefficients", given_tensors, machine=machine)
    want = reference("adain_coefficients", given_tensors)
    assert np.abs(got[1] / want[1] - 1).max() <= limit
    assert np.abs(got[0] / want[0] - 1).max() <= 1e-3 if mean == 0 else 2e-7


@machines
def test_constant_rows_are_finite(machine: Machine) -> None:
    given_tensors = tensors(777) | {"x": torch.full((1, CHANNELS, 777), 1234.567)}
    assert np.isfinite(check("adain_coefficients", given_tensors, machine=machine)).all()


@machines
def test_masked(machine: Machine) -> None:
    given_tensors = tensors(1500)

    @settings(max_examples=20, deadline=None)
    @given(st.integers(1, 1500))
    @example(1)
    @example(1024)
    @example(1500)
    def holds(length: int) -> None:
        check_masked("adain_coefficients", given_tensors, length=length, machine=machine)

    holds()


def test_eps() -> None:
    given_tensors = tensors(50, spread=1e-3)
    check("adain_coefficients", given_tensors, {"eps": 1e-2})
    check("adain_coefficients", given_tensors, {"eps": 1e-5}, dynamic=False)
