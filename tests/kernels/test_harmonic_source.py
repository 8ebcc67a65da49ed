from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from kokoro_tvm.targets import Machine

from .on_gpu import GPUS
from .support import check, check_masked, machines, random, random_lengths, reference, run

LEVELS = {"amplitude": 0.1, "noise_std": 0.003, "voiced_threshold": 10.0}


def attributes(upsample: int = 300, rate: int = 24000) -> dict[str, Any]:
    return {"upsample": upsample, "sample_rate": rate, **LEVELS}


def tensors(steps: int, upsample: int = 300, harmonics: int = 9) -> dict[str, torch.Tensor | None]:
    """Return voiced and unvoiced stretches, negative pitches and the threshold."""
    # The predictor returns negative pitches in unvoiced steps.
    f0 = torch.where(
        random(1, steps) > -0.5, 165 + 80 * random(1, steps, seed=2), random(1, steps, seed=3) * 3
    )
    f0[:, steps // 2] = 10.0
    return {
        "f0": f0,
        "noise": random(1, steps * upsample, seed=4),
        "weight": random(1, harmonics, seed=5),
        "bias": random(1, seed=6) * 0.1,
    }


def silent(f0: torch.Tensor, upsample: int) -> dict[str, torch.Tensor | None]:
    """Return tensors of one harmonic without noise: the result is tanh(sine of the pitch)."""
    return {
        "f0": f0,
        "noise": torch.zeros(1, f0.shape[1] * upsample),
        "weight": torch.full((1, 1), 5.0),
        "bias": torch.zeros(1),
    }


@machines
def test_harmonic_source_matches_reference_at_every_length(machine: Machine) -> None:
    def holds(steps: int) -> None:
        check("harmonic_source", tensors(steps), attributes(), machine=machine, tolerance=5e-7)

    random_lengths(holds, 200, also=(2, 8, 9))


@machines
@pytest.mark.parametrize(("upsample", "harmonics"), [(2, 1), (34, 3)])
def test_harmonic_source_matches_reference_for_other_factors(
    upsample: int, harmonics: int, machine: Machine
) -> None:
    given_tensors = tensors(50, upsample, harmonics)
    check("harmonic_source", given_tensors, attributes(upsample), machine=machine, tolerance=5e-7)


@machines
def test_harmonic_source_matches_reference_when_masked(machine: Machine) -> None:
    given_tensors = tensors(40)

    def holds(length: int) -> None:
        check_masked("harmonic_source", given_tensors, attributes(), length=length, machine=machine)

    random_lengths(holds, 40, also=(9,))


@machines
def test_harmonic_source_keeps_phase_for_100_seconds(machine: Machine) -> None:
    """Use a tenth of the sample rate, so that 100 s are cheap; the phase is as large as at the full rate."""
    steps, upsample = 8000, 30
    given_tensors = tensors(steps, upsample)
    actual = run("harmonic_source", given_tensors, attributes(upsample, 2400), machine=machine)
    want = reference("harmonic_source", given_tensors, attributes(upsample, 2400))
    tail = slice(-upsample * 800, None)
    assert np.abs(actual - want)[:, tail].max() <= 5e-7
    assert np.abs(actual - want).max() <= 5e-7


@machines
@pytest.mark.parametrize("pitch", [50.0, 220.0, 123.456, 599.9])
def test_harmonic_source_of_constant_pitch_is_sine(pitch: float, machine: Machine) -> None:
    """Expect a phase of pitch/rate * (t + 1/2 + upsample/2) turns, constant in the outer half steps."""
    steps, upsample, rate = 8000, 30, 2400
    f0 = torch.full((1, steps), pitch)
    actual = run("harmonic_source", silent(f0, upsample), attributes(upsample, rate), machine=machine)[0]
    hertz = float(np.float32(pitch))
    position = np.clip(np.arange(steps * upsample) + 0.5 - upsample / 2, 0, (steps - 1) * upsample)
    turns = np.remainder(hertz / rate * (position + upsample), 1.0)
    want = np.tanh(0.5 * np.sin(2 * np.pi * turns))
    assert np.abs(actual - want).max() <= 5e-7


@machines
def test_harmonic_source_is_voiced_above_threshold_only(machine: Machine) -> None:
    f0 = torch.tensor([[10.0, 10.1, 9.9, -200.0, 200.0]])
    given_tensors = silent(f0, 300)
    actual = run("harmonic_source", given_tensors, attributes(), machine=machine)[0].reshape(5, 300)
    assert [bool(step.any()) for step in actual] == [False, True, False, False, True]


@machines
def test_harmonic_source_accepts_static_shape(machine: Machine) -> None:
    check("harmonic_source", tensors(19), attributes(), dynamic=False, machine=machine, tolerance=5e-7)


@machines
def test_harmonic_source_rejects_odd_factor(machine: Machine) -> None:
    with pytest.raises(NotImplementedError, match="odd upsampling factor"):
        run("harmonic_source", tensors(3, 15), attributes(15), machine=machine)


def test_harmonic_source_rejects_rates_beyond_32_bits() -> None:
    """Build for GPUs, where phases are integers of Hz."""
    with pytest.raises(NotImplementedError, match="phases at this sample rate do not fit 32 bits"):
        run("harmonic_source", tensors(3, 2), attributes(2, 60000), machine=GPUS["cuda"])
