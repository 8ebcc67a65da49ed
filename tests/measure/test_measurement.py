"""The one comparison of a value with the truth and with PyTorch, frame by frame and as a whole."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kokoro_tvm.measure.measurement import measure, measure_audio
from kokoro_tvm.measure.metrics import frame_snrs_db, snr_db

FRAMES = 40


def speech(frames: int = FRAMES, quiet: float = 1e-6) -> np.ndarray:
    """Noise that begins and ends in near silence."""
    audio = np.random.default_rng(0).standard_normal(600 * frames)
    audio[:600] *= quiet
    audio[-600:] *= quiet
    return audio


TRUTH = speech()


def off(amount: float, seed: int = 1) -> np.ndarray:
    """TRUTH with an error of so much of every sample."""
    return TRUTH * (1 + amount * np.random.default_rng(seed).standard_normal(TRUTH.size))


def test_one_frame_is_the_whole() -> None:
    value = off(1e-3)
    assert frame_snrs_db(value, TRUTH, 1) == pytest.approx([snr_db(value, TRUTH)])


@given(st.integers(1, 5), st.integers(1, 4), st.integers(1, 3), st.floats(-6, 6), st.integers(0, 9))
def test_every_frame_is_measured_by_itself(
    frames: int, size: int, rows: int, magnitude: float, seed: int
) -> None:
    random = np.random.default_rng(seed)
    truth = random.standard_normal((rows, frames * size)) * 10.0**magnitude
    value = truth + random.standard_normal(truth.shape) * 1e-3 * np.abs(truth).mean()
    alone = [snr_db(v, t) for v, t in zip(*(np.split(x, frames, -1) for x in (value, truth)), strict=True)]
    assert frame_snrs_db(value, truth, frames) == pytest.approx(alone)


def test_frames_that_are_silent_broken_or_exact() -> None:
    truth = np.array([0.0, 0, 0, 0, 1, 1, 1, 1, 1, 1])
    value = np.array([0.0, 0, 0, 1, 1, np.nan, 1, 1, 2, 1])
    assert frame_snrs_db(value, truth, 5).tolist() == [
        np.inf,
        -np.inf,
        -np.inf,
        np.inf,
        pytest.approx(3.0103),
    ]


def test_frames_are_whole() -> None:
    for frames in (0, 3):
        with pytest.raises(ValueError, match=f"10 elements cannot be cut into {frames} equal frames"):
            frame_snrs_db(np.ones(10), np.ones(10), frames)


def test_a_flipped_frame_costs_the_whole_and_not_the_frames() -> None:
    value = off(1e-5)
    value[600 * 20 : 600 * 21] *= -1
    measured = measure_audio(value, TRUTH)
    assert measured["snr_db"] < 12
    assert measured["frame_snr_median_db"] > 95
    assert measured["frame_snr_p5_db"] > 95


def test_a_mistake_in_a_silent_last_frame_is_seen_there_alone() -> None:
    value = off(1e-5)
    value[-5:] *= 1.1
    measured = measure_audio(value, TRUTH)
    assert measured["snr_db"] > 95
    assert measured["frame_snr_p5_db"] > 95
    assert measured["last_frame_snr_db"] < 50


def test_gain_is_over_pytorch() -> None:
    ours, theirs = off(1e-5), off(1e-3, 2)
    measured = measure(ours, TRUTH, theirs)
    assert measured["gain_db"] == measured["snr_db"] - measured["pytorch_snr_db"] == pytest.approx(40, abs=1)
    assert measure(TRUTH, TRUTH, TRUTH)["gain_db"] == 0.0
    assert np.isnan(measure(ours, TRUTH, theirs[:-1])["gain_db"])
    assert {"gain_db", "pytorch_snr_db"}.isdisjoint(measure(ours, TRUTH))


def test_what_is_not_finite_meets_no_minimum() -> None:
    value = TRUTH.copy()
    value[7] = np.nan
    measured = measure_audio(value, TRUTH, off(1e-3))
    assert measured["snr_db"] == measured["gain_db"] == -np.inf
    assert measured["magnitude_correlation"] == 0.0
    assert measured["finite_fraction"] < 1.0


def test_exact_frames_have_percentiles() -> None:
    value = TRUTH.copy()
    value[: TRUTH.size // 2 - 600] *= 1.001
    measured = measure_audio(value, TRUTH)
    assert measured["frame_snr_median_db"] == np.inf
    assert measured["frame_snr_p5_db"] == pytest.approx(60)


def test_exact_phases_are_a_second_column_for_both_sides() -> None:
    ours, theirs, exact = off(1e-5), off(1e-3, 2), off(1e-4, 3)
    measured = measure_audio(ours, TRUTH, theirs, exact)
    beside = measure_audio(ours, exact, theirs)
    for name in ("snr_db", "frame_snr_median_db"):
        assert measured[f"exact_{name}"] == beside[name] != measured[name]
    assert measured["pytorch_exact_snr_db"] == beside["pytorch_snr_db"]
    first_column = measure_audio(ours, TRUTH, theirs)
    assert {name: measured[name] for name in first_column} == first_column
