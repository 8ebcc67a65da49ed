from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from kokoro_tvm import kernels as ops
from kokoro_tvm.kernels.moments import FEWEST_STEPS, slots
from kokoro_tvm.targets import Machine

from .samples import assert_moments, combined
from .support import check_masked, every_length, machines, random, random_lengths, reference, run

CHANNELS = 21


def assert_statistics(x: torch.Tensor, got: np.ndarray, tolerance: float = 1e-6) -> None:
    """Assert that mean (to `spreads` spreads) and variance are those of x in float64."""
    steps, mean, variance = combined(got)
    values = x.double().numpy()[0]
    assert (steps == len(values)).all()
    spread = values.std(axis=0)
    assert (np.abs(mean - values.mean(axis=0)) <= tolerance * spread).all()
    assert (np.abs(variance - spread**2) <= 2 * tolerance * spread**2).all()


@machines
def test_moments_matches_reference_at_every_length(machine: Machine) -> None:
    def holds(steps: int) -> None:
        x = random(1, steps, CHANNELS)
        assert_moments(run("moments", {"x": x}, machine=machine), reference("moments", {"x": x}))

    every_length(holds, 3000)


@machines
@pytest.mark.parametrize("ratio", [0.0, 10.0, 1e3, 1e5])
@pytest.mark.parametrize("steps", [2, 64, 5000])
def test_moments_keep_precision_of_large_means(ratio: float, steps: int, machine: Machine) -> None:
    """Use a mean of a hundred thousand spreads."""
    x = random(1, steps, CHANNELS) + ratio
    assert_statistics(x, run("moments", {"x": x}, machine=machine))


@machines
def test_moments_tolerate_outlying_first_step(machine: Machine) -> None:
    x = random(1, 700, CHANNELS)
    x[:, ::256] = 300.0
    assert_statistics(x, run("moments", {"x": x}, machine=machine))


@machines
def test_moments_keep_precision_of_drift(machine: Machine) -> None:
    """Use blocks with very different means."""
    x = random(1, 3000, CHANNELS) + torch.arange(3000)[None, :, None]
    assert_statistics(x, run("moments", {"x": x}, machine=machine))


@machines
def test_moments_of_constants_have_no_variance(machine: Machine) -> None:
    x = torch.full((1, 777, CHANNELS), 1234.567)
    _, mean, variance = combined(run("moments", {"x": x}, machine=machine))
    assert (mean == float(np.float32(1234.567))).all()
    assert not variance.any()


@machines
def test_moments_matches_reference_when_masked(machine: Machine) -> None:
    """Compare bit for bit; unused slots must be marked as empty."""
    x = random(1, 1500, CHANNELS)

    def holds(length: int) -> None:
        check_masked("moments", {"x": x}, length=length, machine=machine)
        masked = {"x": x, "length": torch.tensor([length])}
        steps, _, _ = combined(run("moments", masked, dynamic=False, machine=machine))
        assert (steps == length).all()

    random_lengths(holds, 1500, also=(256, 257))


@machines
def test_moments_accepts_static_shape(machine: Machine) -> None:
    x = random(1, 300, CHANNELS)
    static = run("moments", {"x": x}, dynamic=False, machine=machine)
    assert static.tobytes() == run("moments", {"x": x}, machine=machine).tobytes()


@given(st.integers(1, 10**6))
def test_slots_suffice_for_every_length(steps: int) -> None:
    """Use blocks of as few steps as allowed, and a dozen more."""
    assert slots(steps) >= -(-steps // FEWEST_STEPS) + 12


@pytest.mark.parametrize("steps", [1, 2, 70])
def test_moments_reference_is_one_block(steps: int) -> None:
    x = random(1, steps, 3).double()
    actual = ops.moments(x).numpy()
    assert actual.shape == (slots(steps), 4, 3)
    assert (actual[0, 3] == steps).all()
    assert not actual[1:].any()
    _, mean, variance = combined(actual)
    np.testing.assert_allclose(mean, x[0].mean(0))
    np.testing.assert_allclose(variance, x[0].var(0, correction=0), atol=1e-15)
