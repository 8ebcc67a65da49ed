"""Metrics of sound: signals whose lag, loudness and pitch are known, and what never changes them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kokoro_tvm.common.constants import SAMPLE_RATE
from kokoro_tvm.validation.measure.acoustics import (
    f0_rmse_hz,
    lag_samples,
    log_mel_correlation,
    loudness_ratio_db,
    mel_filters,
    mel_power,
)

seeds = st.integers(0, 2**32 - 1)
METRICS = [lag_samples, log_mel_correlation, loudness_ratio_db]


def noise(seed: int, samples: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=samples)


def tone(hertz: float, samples: int = SAMPLE_RATE) -> np.ndarray:
    return np.sin(2 * np.pi * hertz / SAMPLE_RATE * np.arange(samples))


@given(
    seeds,
    st.integers(1, 400),
    st.integers(-300, 300),
    st.integers(0, 50),
    st.sampled_from([1e-150, 0.3, 1e150]),
)
def test_lag_equals_the_shift(seed: int, samples: int, shift: int, more: int, scale: float) -> None:
    x = noise(seed, samples) + 3.0  # one sign: no other shift can correlate as well as the true one
    late = np.concatenate([np.zeros(max(shift, 0)), x[max(-shift, 0) :], np.zeros(more)])
    if late.any() and max(-shift, 0) == 0:
        assert lag_samples(late * scale, x) == max(shift, 0)
        assert lag_samples(x, late * scale) == -max(shift, 0)


@given(seeds, st.integers(2, 500), st.integers(2, 500))
def test_lag_equals_the_definition(seed: int, first: int, second: int) -> None:
    a, r = noise(seed, first), noise(seed + 1, second)
    lags = range(1 - second, first)
    sums = [sum(a[n + lag] * r[n] for n in range(second) if 0 <= n + lag < first) for lag in lags]
    assert lag_samples(a, r) == lags[int(np.argmax(sums))]


def test_of_equal_lags_the_smallest() -> None:
    period = tone(240.0, 1000)
    assert lag_samples(np.ones(9), np.ones(3)) in (0.0, 1.0)
    assert lag_samples(np.array([1.0, 0, 0, 0, 1.0]), np.array([0, 0, 1.0])) == -2.0
    assert lag_samples(np.array([1.0, 0, 1.0]), np.array([0.0, 1.0, 0.0])) in (-1.0, 1.0)
    assert lag_samples(period, period) == 0.0


@given(seeds, st.integers(1, 3000), st.integers(1, 3000), st.floats(-80, 80))
def test_loudness_ratio_equals_the_gain(seed: int, samples: int, more: int, decibels: float) -> None:
    x = noise(seed, samples) + 1e-3
    assert loudness_ratio_db(x * 10 ** (decibels / 20), x) == pytest.approx(decibels, abs=1e-9)
    assert loudness_ratio_db(np.tile(x, 3), x) == pytest.approx(0.0, abs=1e-9)


def test_silence() -> None:
    silence, sound = np.zeros(700), tone(200, 700)
    assert loudness_ratio_db(silence, silence) == 0.0
    assert loudness_ratio_db(sound, silence) == np.inf
    assert loudness_ratio_db(silence, sound) == -np.inf
    assert log_mel_correlation(silence, silence) == 1.0
    assert log_mel_correlation(sound, silence) == 0.0
    assert log_mel_correlation(silence, sound) == 0.0
    assert np.isnan(lag_samples(silence, sound)) and np.isnan(lag_samples(sound, silence))


@given(seeds, st.integers(1, 4000), st.sampled_from([1e-100, 0.5, 3.0, 1e100]))
def test_log_mel_correlation_of_equal_signals_is_one(seed: int, samples: int, unit: float) -> None:
    x, y = noise(seed, samples), noise(seed + 1, samples)
    assert log_mel_correlation(x * unit, x * unit) == pytest.approx(1.0)
    assert log_mel_correlation(y * unit, x * unit) == pytest.approx(log_mel_correlation(y, x), abs=1e-9)
    assert -1.0 <= log_mel_correlation(y, x) <= 1.0


def test_log_mel_correlation_detects_quiet_differences() -> None:
    speech = tone(200) + 1e-3 * tone(5000)
    dull = tone(200)
    assert log_mel_correlation(speech + 1e-6 * noise(0, SAMPLE_RATE), speech) > 0.99
    assert log_mel_correlation(dull, speech) < 0.99, "a high band that is gone, 60 dB down, is heard"
    assert log_mel_correlation(tone(3000), speech) < 0.6


def test_log_mel_correlation_ignores_inaudible_power() -> None:
    speech = tone(200)
    assert log_mel_correlation(speech + 1e-7 * noise(0, SAMPLE_RATE), speech) == pytest.approx(1.0, abs=1e-6)


def test_mel_filters_cover_every_bin() -> None:
    filters = mel_filters(8)
    assert filters.shape == (513, 8)
    assert (filters >= 0).all() and filters.max() <= 1.0
    assert (filters[1:-1].sum(axis=1) > 0).all()
    loudest = mel_power(tone(1000.0), 8).mean(axis=0).argmax()
    assert filters[round(1000 / (SAMPLE_RATE / 1024))].argmax() == loudest


@given(seeds, st.integers(1, 300), st.floats(-50, 50))
def test_f0_rmse_counts_voiced_frames_only(seed: int, frames: int, off: float) -> None:
    generator = np.random.default_rng(seed)
    voiced = generator.random(frames) < 0.5
    reference = np.where(voiced, generator.uniform(80, 300, frames), generator.uniform(-5, 10, frames))
    value = np.where(voiced, reference + off, generator.normal(0, 1e3, frames))
    expected = abs(off) if voiced.any() else np.nan
    assert f0_rmse_hz(value[None], reference[None]) == pytest.approx(expected, abs=1e-9, nan_ok=True)


def test_f0_rmse_of_infinite_pitch() -> None:
    reference, value = np.array([200.0, 0.0]), np.array([np.nan, 0.0])
    assert f0_rmse_hz(value, reference) == np.inf
    assert f0_rmse_hz(value[::-1], reference) == 200.0, "an unvoiced frame is not compared"
    with pytest.raises(ValueError, match="not finite"):
        f0_rmse_hz(reference, value)
    with pytest.raises(ValueError, match="one shape"):
        f0_rmse_hz(reference, reference[None])
    with pytest.raises(ValueError, match="one shape"):
        f0_rmse_hz(np.ones(0), np.ones(0))


def test_values_that_are_not_finite() -> None:
    reference = noise(0, 900)
    value = reference.copy()
    value[5] = np.inf
    assert np.isnan(lag_samples(value, reference))
    assert np.isnan(loudness_ratio_db(value, reference))
    assert log_mel_correlation(value, reference) == 0.0


@pytest.mark.parametrize("metric", METRICS)
def test_invalid_signals_are_refused(metric) -> None:
    with pytest.raises(ValueError, match="samples"):
        metric(np.ones((1, 5)), np.ones(5))
    with pytest.raises(ValueError, match="samples"):
        metric(np.ones(5), np.ones(0))
    with pytest.raises(ValueError, match="not finite"):
        metric(np.ones(5), np.full(5, np.nan))


def test_log_mel_never_broadcasts() -> None:
    with pytest.raises(ValueError, match="shapes differ"):
        log_mel_correlation(np.ones(5), np.ones(6))
