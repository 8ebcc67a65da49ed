"""Metrics: what they must be for signals whose answer is known, and what never changes them."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from kokoro_tvm.validation.measure.metrics import (
    HOP,
    WINDOW,
    absolute_errors,
    correlation,
    finite_fraction,
    frame_snrs_db,
    magnitude_correlation,
    magnitude_spectrum,
    measure,
    measure_audio,
    snr_db,
)

signals = hnp.arrays(
    np.float64, st.integers(1, 3000), elements=st.floats(-1e3, 1e3, allow_subnormal=False), fill=st.nothing()
).filter(lambda x: np.abs(x).max() > 1e-3)
seeds = st.integers(0, 2**32 - 1)


@given(signals, st.floats(-60, 120))
def test_snr_of_a_known_error(x: np.ndarray, decibels: float) -> None:
    assert snr_db(x * (1 + 10 ** (-decibels / 20)), x) == pytest.approx(decibels, abs=1e-3)


@given(signals, st.sampled_from([1e-200, -1e-3, 7.0, 1e150]))
def test_snr_and_correlation_do_not_depend_on_the_unit(x: np.ndarray, scale: float) -> None:
    y = x + np.random.default_rng(0).normal(size=x.size)
    assert snr_db(y * scale, x * scale) == pytest.approx(snr_db(y, x), abs=1e-6)
    assert magnitude_correlation(y * scale, x) == pytest.approx(magnitude_correlation(y, x), abs=1e-9)


@given(signals)
def test_equal_signals_have_the_best_metrics(x: np.ndarray) -> None:
    assert snr_db(x, x) == np.inf
    assert set(absolute_errors(x, x).values()) == {0.0}
    assert magnitude_correlation(x, x) == pytest.approx(1.0)
    assert finite_fraction(x) == 1.0


@given(signals, st.data())
def test_max_abs_equals_a_single_error(x: np.ndarray, data: st.DataObject) -> None:
    y = x.copy()
    y[data.draw(st.integers(0, x.size - 1))] += 0.25
    assert absolute_errors(y, x)["max_abs"] == pytest.approx(0.25)
    assert absolute_errors(x, y) == absolute_errors(y, x)


@given(signals, st.sampled_from([1e-200, 1.0, 1e150]))
def test_errors_equal_numpy_at_any_scale(x: np.ndarray, scale: float) -> None:
    y = x + np.random.default_rng(0).normal(size=x.size)
    result = absolute_errors(y * scale, x * scale)
    assert result["mean_abs"] == pytest.approx(np.abs(y - x).mean() * scale)
    assert result["rms_error"] == pytest.approx(np.sqrt(np.mean((y - x) ** 2)) * scale)
    if x.size > 2 and x.std() > 1e-3:
        assert correlation(y * scale, x) == pytest.approx(np.corrcoef(y, x)[0, 1], abs=1e-9)


def test_correlation_of_constants() -> None:
    flat = np.full(5, 2.0)
    assert correlation(flat, flat) == 1.0
    assert correlation(flat, np.arange(5.0)) == 0.0
    assert correlation(np.array([np.nan, 1.0]), np.array([0.0, 1.0])) == 0.0


@given(signals, st.sampled_from([np.nan, np.inf, -np.inf]), st.data())
def test_value_that_is_not_finite_has_infinite_error(x: np.ndarray, bad: float, data: st.DataObject) -> None:
    y = x.copy()
    y[data.draw(st.integers(0, x.size - 1))] = bad
    assert snr_db(y, x) == -np.inf
    assert set(absolute_errors(y, x).values()) == {np.inf}
    assert magnitude_correlation(y, x) == 0.0
    assert finite_fraction(y) == pytest.approx(1 - 1 / x.size)
    with pytest.raises(ValueError, match="not finite"):
        snr_db(x, y)


@given(seeds, st.integers(1, 5000))
def test_correlation_is_bounded_and_symmetric(seed: int, samples: int) -> None:
    x, y = np.random.default_rng(seed).normal(size=(2, samples))
    correlation = magnitude_correlation(x, y)
    assert -1.0 <= correlation <= 1.0
    assert correlation == pytest.approx(magnitude_correlation(y, x))


def test_correlation_distinguishes_signals() -> None:
    time = np.arange(24000) / 24000
    low, high = np.sin(2 * np.pi * 200 * time), np.sin(2 * np.pi * 3000 * time)
    noise = np.random.default_rng(0).normal(size=24000)
    assert magnitude_correlation(low, high) < 0.1
    assert magnitude_correlation(low + 0.5 * noise, low) < 0.98
    assert magnitude_correlation(low + 1e-4 * noise, low) > 0.9999
    # A shift within a period is a change of phase alone, which a magnitude does not hear.
    assert magnitude_correlation(np.sin(2 * np.pi * 200 * time + 1.0), low) > 0.999


def test_silence() -> None:
    silence, sound = np.zeros(700), np.ones(700)
    assert snr_db(silence, silence) == np.inf
    assert snr_db(sound, silence) == -np.inf
    assert snr_db(silence, sound) == 0.0
    assert magnitude_correlation(silence, silence) == 1.0
    assert magnitude_correlation(silence, sound) == 0.0


@pytest.mark.parametrize("samples", [600, HOP * 9])
def test_spectrum_equals_torch(samples: int) -> None:
    x = np.random.default_rng(1).normal(size=samples)
    frames = 1 + samples // HOP
    theirs = torch.stft(
        torch.from_numpy(x),
        WINDOW,
        HOP,
        window=torch.hann_window(WINDOW, dtype=torch.float64),
        center=True,
        pad_mode="constant",
        return_complex=True,
    ).abs()
    np.testing.assert_allclose(magnitude_spectrum(x)[:frames], theirs.numpy().T, atol=1e-10)


@given(st.integers(1, 4000), st.data())
def test_spectrum_covers_every_sample(samples: int, data: st.DataObject) -> None:
    x = np.zeros(samples)
    x[data.draw(st.integers(0, samples - 1))] = 1.0
    # Of frames a quarter window apart, one has its centre within an eighth: Hann is above 0.85 there.
    assert magnitude_spectrum(x).max() > 0.85


@pytest.mark.parametrize("metric", [snr_db, absolute_errors, correlation, magnitude_correlation])
def test_shapes_are_never_broadcast(metric) -> None:
    with pytest.raises(ValueError, match="shapes differ"):
        metric(np.ones((1, 5)), np.ones(5))
    with pytest.raises(ValueError, match="no elements"):
        metric(np.ones(0), np.ones(0))


def test_nothing_to_measure() -> None:
    with pytest.raises(ValueError, match="no elements"):
        finite_fraction(np.ones(0))
    with pytest.raises(ValueError, match="samples"):
        magnitude_spectrum(np.ones((1, 5)))


FRAMES = 40


def speech(frames: int = FRAMES, quiet: float = 1e-6) -> np.ndarray:
    """Generate noise that begins and ends in near silence."""
    audio = np.random.default_rng(0).standard_normal(600 * frames)
    audio[:600] *= quiet
    audio[-600:] *= quiet
    return audio


TRUTH = speech()


def off(amount: float, seed: int = 1) -> np.ndarray:
    """Return TRUTH with a relative error of every sample."""
    return TRUTH * (1 + amount * np.random.default_rng(seed).standard_normal(TRUTH.size))


def test_one_frame_has_the_snr_of_the_whole() -> None:
    value = off(1e-3)
    assert frame_snrs_db(value, TRUTH, 1) == pytest.approx([snr_db(value, TRUTH)])


@given(st.integers(1, 5), st.integers(1, 4), st.integers(1, 3), st.floats(-6, 6), st.integers(0, 9))
def test_frame_snrs_measure_each_frame(
    frames: int, size: int, rows: int, magnitude: float, seed: int
) -> None:
    random = np.random.default_rng(seed)
    truth = random.standard_normal((rows, frames * size)) * 10.0**magnitude
    value = truth + random.standard_normal(truth.shape) * 1e-3 * np.abs(truth).mean()
    alone = [snr_db(v, t) for v, t in zip(*(np.split(x, frames, -1) for x in (value, truth)), strict=True)]
    assert frame_snrs_db(value, truth, frames) == pytest.approx(alone)


def test_frame_snrs_of_silent_infinite_and_equal_frames() -> None:
    truth = np.array([0.0, 0, 0, 0, 1, 1, 1, 1, 1, 1])
    value = np.array([0.0, 0, 0, 1, 1, np.nan, 1, 1, 2, 1])
    assert frame_snrs_db(value, truth, 5).tolist() == [
        np.inf,
        -np.inf,
        -np.inf,
        np.inf,
        pytest.approx(3.0103),
    ]


def test_measure_audio_needs_whole_frames() -> None:
    for frames in (0, 3):
        with pytest.raises(ValueError, match=f"10 elements cannot be cut into {frames} equal frames"):
            frame_snrs_db(np.ones(10), np.ones(10), frames)


def test_flipped_frame_lowers_snr_but_not_frame_snrs() -> None:
    value = off(1e-5)
    value[600 * 20 : 600 * 21] *= -1
    measured = measure_audio(value, TRUTH)
    assert measured["snr_db"] < 12
    assert measured["frame_snr_median_db"] > 95
    assert measured["frame_snr_p5_db"] > 95


def test_last_frame_snr_detects_an_error_in_silence() -> None:
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


def test_infinite_values_meet_no_minimum() -> None:
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


def test_exact_phases_are_a_second_column() -> None:
    ours, theirs, exact = off(1e-5), off(1e-3, 2), off(1e-4, 3)
    measured = measure_audio(ours, TRUTH, theirs, exact)
    beside = measure_audio(ours, exact, theirs)
    for name in ("snr_db", "frame_snr_median_db"):
        assert measured[f"exact_{name}"] == beside[name] != measured[name]
    assert measured["pytorch_exact_snr_db"] == beside["pytorch_snr_db"]
    first_column = measure_audio(ours, TRUTH, theirs)
    assert {name: measured[name] for name in first_column} == first_column
