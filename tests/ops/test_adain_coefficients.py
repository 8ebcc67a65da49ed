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


def apply(coefficients: np.ndarray, given_tensors: dict[str, torch.Tensor | None]) -> np.ndarray:
    """The normalised rows, in float64."""
    x = given_tensors["x"]
    assert x is not None
    mean, scale, shift = coefficients.astype(np.float64)[..., None]
    return (x.numpy()[0] - mean) * scale + shift


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
        normalised, truth = (apply(coefficients, tensors(steps)) for coefficients in (got, want))
        assert np.abs(normalised - truth).max() <= 1e-6 * np.abs(truth).max()
        assert np.abs(got[1] - want[1]).max() <= 1e-6 * np.abs(want[1]).max()

    holds()


@machines
def test_one_step_has_no_variance(machine: Machine) -> None:
    check("adain_coefficients", tensors(1), machine=machine)


@machines
@pytest.mark.parametrize("ratio", [0.0, 10.0, 1e3, 1e5])
@pytest.mark.parametrize("steps", [64, 5000])
def test_large_means_and_tiny_spreads(ratio: float, steps: int, machine: Machine) -> None:
    """Normalised as well as numbers this far from zero allow, which is half an ulp of the mean.

    E[x^2] - E[x]^2 would be all rounding error here, and negative now and then; a mean summed in float32 is
    off by more than the spread.
    """
    given_tensors = tensors(steps, mean=ratio, spread=1.0)
    got = run("adain_coefficients", given_tensors, machine=machine)
    want = reference("adain_coefficients", given_tensors)
    assert np.abs(got[1] / want[1] - 1).max() <= 1e-6
    normalised, truth = (apply(coefficients, given_tensors) for coefficients in (got, want))
    assert np.abs(normalised - truth).max() <= 2e-6 * np.abs(truth).max()


@machines
def test_constant_rows_become_the_shift(machine: Machine) -> None:
    given_tensors = tensors(777) | {"x": torch.full((1, CHANNELS, 777), 1234.567)}
    got = check("adain_coefficients", given_tensors, machine=machine)
    want = reference("adain_coefficients", given_tensors)
    np.testing.assert_allclose(apply(got, given_tensors), apply(want, given_tensors), rtol=1e-6)


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
