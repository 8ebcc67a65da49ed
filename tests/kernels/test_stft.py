from __future__ import annotations

import math

import numpy as np
import torch
from examples import examples
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kokoro_tvm.targets import Machine

from .support import check_masked, machines, random, random_lengths, reference, run

SIZES = {"n_fft": 20, "hop": 5}
BINS = 11


def points(spectrum: np.ndarray) -> np.ndarray:
    """Convert magnitude and phase to complex numbers: -pi equals pi, and silence has no phase."""
    return spectrum[..., :BINS] * np.exp(1j * spectrum[..., BINS:].astype(np.float64))


def assert_same_points(got: np.ndarray, want: np.ndarray, tolerance: float = 5e-7) -> None:
    assert got.shape == want.shape
    assert np.abs(points(got) - points(want)).max() <= tolerance * np.abs(points(want)).max()


@machines
def test_stft_matches_reference_at_every_length(machine: Machine) -> None:
    def holds(samples: int) -> None:
        tensors = {"x": random(1, samples)}
        assert_same_points(run("stft", tensors, SIZES, machine=machine), reference("stft", tensors, SIZES))

    random_lengths(holds, 3000, 11, also=(15, 1279, 1280))


@machines
def test_stft_matches_numpy_magnitudes_and_phases(machine: Machine) -> None:
    tensors = {"x": random(1, 2000)}
    actual, want = run("stft", tensors, SIZES, machine=machine), reference("stft", tensors, SIZES)
    assert np.abs(actual[..., :BINS] - want[..., :BINS]).max() <= 5e-7 * want[..., :BINS].max()
    turn = np.remainder(actual[..., BINS:] - want[..., BINS:] + math.pi, 2 * math.pi) - math.pi
    clear = want[..., :BINS] > 1e-2 * want[..., :BINS].max()
    clear[..., [0, -1]] = False  # there the spectrum is real but for rounding: a sign decides
    assert np.abs(turn[clear]).max() <= 5e-5


@machines
def test_stft_phase_of_dc_and_nyquist_is_zero_or_pi(machine: Machine) -> None:
    phases = run("stft", {"x": random(1, 3000)}, SIZES, machine=machine)[0, :, BINS:]
    ends = phases[:, [0, -1]]
    assert set(ends.ravel().tolist()) == {0.0, float(np.float32(math.pi))}
    assert not np.signbit(ends).any()
    assert (np.abs(phases) <= np.float32(math.pi)).all()


@machines
def test_stft_phase_of_first_frame_is_zero_or_pi(machine: Machine) -> None:
    """Expect real values, because the first frame is mirrored about its centre; rounding must not decide."""
    for seed in range(20):
        tensors = {"x": random(1, 15 + 5 * seed, seed=seed)}
        for phases in (run("stft", tensors, SIZES, machine=machine), reference("stft", tensors, SIZES)):
            first = phases[0, 0, BINS:].astype(np.float32)  # the reference computes in float64
            assert set(first.tolist()) <= {0.0, float(np.float32(math.pi))}
            assert not np.signbit(first).any()
            assert len(set(phases[0, 1, BINS:].tolist())) > 5


@machines
def test_stft_of_silence_is_zero(machine: Machine) -> None:
    actual = run("stft", {"x": torch.zeros(1, 100)}, SIZES, machine=machine)
    assert not actual.any()


@machines
def test_stft_matches_reference_when_masked(machine: Machine) -> None:
    tensors = {"x": random(1, 1500)}

    @settings(max_examples=examples(20))
    @given(st.integers(3, 300).map(lambda hops: hops * 5))
    @example(15)
    @example(1280)
    @example(1500)
    def holds(length: int) -> None:
        check_masked("stft", tensors, SIZES, length=length, machine=machine)

    holds()


@machines
def test_stft_accepts_static_shape(machine: Machine) -> None:
    tensors = {"x": random(1, 300)}
    actual = run("stft", tensors, SIZES, dynamic=False, machine=machine)
    assert_same_points(actual, reference("stft", tensors, SIZES))


@machines
def test_stft_matches_reference_for_other_sizes(machine: Machine) -> None:
    sizes = {"n_fft": 16, "hop": 4}
    tensors = {"x": random(1, 333)}
    actual, want = run("stft", tensors, sizes, machine=machine), reference("stft", tensors, sizes)
    bins = 9
    as_points = [s[..., :bins] * np.exp(1j * s[..., bins:]) for s in (actual, want)]
    assert np.abs(as_points[0] - as_points[1]).max() <= 1e-6 * np.abs(as_points[1]).max()
