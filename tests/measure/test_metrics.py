"""Metrics: what they must be for signals whose answer is known, and what never changes them."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from kokoro_tvm.measure.metrics import (
    HOP,
    WINDOW,
    correlation,
    finite_fraction,
    magnitude_correlation,
    magnitude_spectrum,
    max_abs,
    mean_abs,
    rms_error,
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
def test_a_signal_equals_itself(x: np.ndarray) -> None:
    assert snr_db(x, x) == np.inf
    assert max_abs(x, x) == 0.0
    assert magnitude_correlation(x, x) == pytest.approx(1.0)
    assert finite_fraction(x) == 1.0


@given(signals, st.data())
def test_max_abs_is_the_one_error_there_is(x: np.ndarray, data: st.DataObject) -> None:
    y = x.copy()
    y[data.draw(st.integers(0, x.size - 1))] += 0.25
    assert max_abs(y, x) == pytest.approx(0.25)
    assert max_abs(x, y) == max_abs(y, x)


@given(signals, st.sampled_from([1e-200, 1.0, 1e150]))
def test_means_are_those_of_numpy_in_any_unit(x: np.ndarray, scale: float) -> None:
    y = x + np.random.default_rng(0).normal(size=x.size)
    assert mean_abs(y * scale, x * scale) == pytest.approx(np.abs(y - x).mean() * scale)
    assert rms_error(y * scale, x * scale) == pytest.approx(np.sqrt(np.mean((y - x) ** 2)) * scale)
    assert mean_abs(x, x) == rms_error(x, x) == 0.0
    if x.size > 2 and x.std() > 1e-3:
        assert correlation(y * scale, x) == pytest.approx(np.corrcoef(y, x)[0, 1], abs=1e-9)


def test_correlation_of_what_never_changes() -> None:
    flat = np.full(5, 2.0)
    assert correlation(flat, flat) == 1.0
    assert correlation(flat, np.arange(5.0)) == 0.0
    assert correlation(np.array([np.nan, 1.0]), np.array([0.0, 1.0])) == 0.0


@given(signals, st.sampled_from([np.nan, np.inf, -np.inf]), st.data())
def test_a_value_that_is_not_finite_is_infinitely_wrong(
    x: np.ndarray, bad: float, data: st.DataObject
) -> None:
    y = x.copy()
    y[data.draw(st.integers(0, x.size - 1))] = bad
    assert snr_db(y, x) == -np.inf
    assert max_abs(y, x) == mean_abs(y, x) == rms_error(y, x) == np.inf
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


def test_correlation_tells_signals_apart() -> None:
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
def test_every_sample_is_in_the_spectrum(samples: int, data: st.DataObject) -> None:
    x = np.zeros(samples)
    x[data.draw(st.integers(0, samples - 1))] = 1.0
    # Of frames a quarter window apart, one has its centre within an eighth: Hann is above 0.85 there.
    assert magnitude_spectrum(x).max() > 0.85


@pytest.mark.parametrize("metric", [snr_db, max_abs, mean_abs, rms_error, correlation, magnitude_correlation])
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
