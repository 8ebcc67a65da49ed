from __future__ import annotations

import numpy as np
import pytest
import torch

from kokoro_tvm import kernels as ops
from kokoro_tvm.targets import Machine

from .samples import style
from .support import assert_near, check, machines, random, random_lengths, reference, run

CHANNELS = 21


def steps_of(steps: int, mean: float = 0.0, spread: float = 1.0) -> torch.Tensor:
    return random(1, steps, CHANNELS) * spread + mean


def tensors(x: torch.Tensor, machine: Machine | None = None) -> dict[str, torch.Tensor | None]:
    """Return the arguments, with moments of x from the machine's kernel, or from the reference in float64."""
    moments = run("moments", {"x": x}, machine=machine) if machine else ops.moments(x.double()).numpy()
    return {
        "moments": torch.from_numpy(moments),
        **style(CHANNELS),
        "weight": random(CHANNELS, seed=3),
        "bias": random(CHANNELS, seed=4),
    }


def both(
    x: torch.Tensor, machine: Machine, attributes: dict[str, float] | None = None, dynamic: bool = True
) -> tuple[np.ndarray, np.ndarray]:
    """Return the coefficients by the two kernels, and by the two references in float64."""
    actual = run("adain_coefficients", tensors(x, machine), attributes, machine=machine, dynamic=dynamic)
    return actual, reference("adain_coefficients", tensors(x), attributes)


def apply(coefficients: np.ndarray, x: torch.Tensor) -> np.ndarray:
    """Normalize the channels in float64."""
    mean, scale, shift = coefficients.astype(np.float64)
    return (x.double().numpy()[0] - mean) * scale + shift


@machines
def test_adain_coefficients_matches_reference_at_every_length(machine: Machine) -> None:
    def holds(steps: int) -> None:
        x = steps_of(steps)
        actual, expected = both(x, machine)
        normalized, truth = apply(actual, x), apply(expected, x)
        assert np.abs(normalized - truth).max() <= 1e-6 * np.abs(truth).max()
        assert np.abs(actual[1] - expected[1]).max() <= 1e-6 * np.abs(expected[1]).max()

    random_lengths(holds, 3000, 2, also=(256, 257, 1024, 1025))


@machines
def test_adain_coefficients_of_one_step_have_no_variance(machine: Machine) -> None:
    assert_near(*both(steps_of(1), machine))


@machines
@pytest.mark.parametrize("ratio", [0.0, 10.0, 1e3, 1e5])
@pytest.mark.parametrize("steps", [64, 5000])
def test_adain_coefficients_keep_precision_of_large_means(ratio: float, steps: int, machine: Machine) -> None:
    """Allow the error of half an ulp of the mean."""
    # E[x^2] - E[x]^2 would be all rounding error here, and sometimes negative. A mean summed in float32 errs
    # by more than the spread.
    x = steps_of(steps, mean=ratio, spread=1.0)
    actual, expected = both(x, machine)
    assert np.abs(actual[1] / expected[1] - 1).max() <= 1e-6
    normalized, truth = apply(actual, x), apply(expected, x)
    assert np.abs(normalized - truth).max() <= 2e-6 * np.abs(truth).max()


@machines
def test_adain_coefficients_map_constant_channels_to_shift(machine: Machine) -> None:
    x = torch.full((1, 777, CHANNELS), 1234.567)
    actual, expected = both(x, machine)
    assert_near(actual, expected)
    np.testing.assert_allclose(apply(actual, x), apply(expected, x), rtol=1e-6)


@machines
@pytest.mark.parametrize("slots", [1, 2, 7, 60])
def test_adain_coefficients_ignore_empty_slots(slots: int, machine: Machine) -> None:
    """Fill empty slots with garbage; use blocks of different lengths."""
    moments = torch.zeros(slots, 4, CHANNELS)
    full = tensors(steps_of(300), machine)["moments"]
    assert full is not None
    used = torch.arange(slots) % 2 == 0
    moments[used] = full[: int(used.sum())] if slots < 4 else full[:1]
    arguments = tensors(steps_of(1)) | {"moments": moments.clone()}
    expected = run("adain_coefficients", arguments, machine=machine)
    moments[:, :3][~used] = torch.nan
    actual = run("adain_coefficients", arguments | {"moments": moments}, machine=machine)
    assert actual.tobytes() == expected.tobytes()
    assert np.isfinite(actual).all()


@machines
def test_adain_coefficients_matches_reference_when_masked(machine: Machine) -> None:
    """Compare bit for bit with the coefficients of the valid part's moments alone."""
    x = steps_of(1500)

    def holds(length: int) -> None:
        expected = run("adain_coefficients", tensors(x[:, :length].contiguous(), machine), machine=machine)
        pad_steps = x.clone()
        pad_steps[:, length:] = torch.nan
        masked = {"x": pad_steps, "length": torch.tensor([length])}
        moments = torch.from_numpy(run("moments", masked, dynamic=False, machine=machine))
        arguments = tensors(steps_of(1)) | {"moments": moments}
        actual = run("adain_coefficients", arguments, dynamic=False, machine=machine)
        assert actual.tobytes() == expected.tobytes()

    random_lengths(holds, 1500, also=(1024,))


@machines
def test_adain_coefficients_use_eps(machine: Machine) -> None:
    arguments = tensors(steps_of(50, spread=1e-3).float())
    arguments["moments"] = arguments["moments"].float()  # type: ignore[union-attr]
    check("adain_coefficients", arguments, {"eps": 1e-2}, machine=machine)
    check("adain_coefficients", arguments, {"eps": 1e-5}, dynamic=False, machine=machine)
