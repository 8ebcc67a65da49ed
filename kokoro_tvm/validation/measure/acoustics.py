"""Acoustic metrics of the similarity of two utterances. Needs only numpy.

All metrics compute in float64, from samples at 24 kHz.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kokoro_tvm.common.constants import SAMPLE_RATE
from kokoro_tvm.validation.measure.metrics import WINDOW, correlation, magnitude_spectrum

MELS = 80
"""Bands of `log_mel_correlation`, the usual number for speech models."""

MEL_RANGE_DB = 80.0
"""Range of a log-mel spectrum below the reference's loudest band; lower levels are clipped."""

VOICED_HZ = 10.0
"""Pitch above which a frame counts as voiced; the model predicts about zero for unvoiced frames."""


def lag_samples(value: ArrayLike, reference: ArrayLike) -> float:
    """Return the delay of `value`: the L with the largest sum_n value[n + L] reference[n].

    Full cross-correlation by FFT. Of equal maxima, the lag nearest to zero is returned.

    Args:
        value: (samples,).
        reference: (samples,), of any other length.

    Returns:
        Samples, negative if `value` is early; NaN if either is silent or `value` is not finite.

    Raises:
        ValueError: Either is not 1-D or empty, or the reference is not finite.
    """
    a, r = _check_signals(value, reference)
    if not np.isfinite(a).all() or not a.any() or not r.any():
        return np.nan
    size = 1 << int(a.size + r.size - 2).bit_length()
    spectra = [np.fft.rfft(x / np.abs(x).max(), size) for x in (a, r)]
    products = np.fft.irfft(spectra[0] * spectra[1].conj(), size)
    lags = np.arange(1 - r.size, a.size)
    products = products[lags]  # the circular correlation counts negative lags from the end
    # Rounding separates equal maxima by some ulps of the largest.
    best = lags[products >= products.max() - 1e-12 * float(np.abs(products).max())]
    return float(best[np.abs(best).argmin()])


def loudness_ratio_db(value: ArrayLike, reference: ArrayLike) -> float:
    """Return 10 log10(mean(value²) / mean(reference²)), unweighted, in dB.

    Arguments and errors are those of `lag_samples`. A silent `value` gives -inf, or 0 if the reference is
    silent too; any other value against a silent reference gives +inf. A value that is not finite gives NaN.
    """
    a, r = _check_signals(value, reference)
    if not np.isfinite(a).all():
        return np.nan
    first, second = _level_db(a), _level_db(r)
    return 0.0 if first == second else first - second


def mel_power(audio: ArrayLike, bands: int) -> NDArray[np.float64]:
    """Return the power of (samples,) audio in mel bands: (frames, bands)."""
    return np.square(magnitude_spectrum(audio)) @ mel_filters(bands)


def log_mel_correlation(value: ArrayLike, reference: ArrayLike) -> float:
    """Return the Pearson correlation of two log-mel spectra in dB, over all frames and bands.

    Two silent signals give 1, one silent signal gives 0, and a value that is not finite gives 0.

    Args:
        value: (samples,).
        reference: (samples,).

    Raises:
        ValueError: Shapes differ; otherwise as `lag_samples`.
    """
    a, r = _check_signals(value, reference)
    if a.shape != r.shape:
        raise ValueError(f"shapes differ: {a.shape} against the reference's {r.shape}")
    if not np.isfinite(a).all():
        return 0.0
    # One scale for both keeps the squares of very small and very large samples representable. Without the
    # floor, inaudible power would outweigh the rest.
    scale = float(np.abs(r).max()) or 1.0
    spectra = [mel_power(x / scale, MELS) for x in (a, r)]
    floor = spectra[1].max() * 10.0 ** (-MEL_RANGE_DB / 10.0)
    if floor == 0.0:
        return 0.0 if a.any() else 1.0
    levels = [10.0 * np.log10(np.maximum(power, floor)) for power in spectra]
    return correlation(*levels)


def f0_rmse_hz(value: ArrayLike, reference: ArrayLike) -> float:
    """Return the RMS difference of two predicted pitch curves over the voiced frames of the reference.

    Args:
        value: (1, 2F) or (2F,) in Hz.
        reference: The same shape.

    Returns:
        Hz; NaN if no frame is voiced, +inf if a compared value is not finite.

    Raises:
        ValueError: Shapes differ, there are no elements, or the reference is not finite.
    """
    a, r = (np.asarray(x, dtype=np.float64) for x in (value, reference))
    if a.shape != r.shape or a.size == 0:
        raise ValueError(f"pitch of one shape is needed, not {a.shape} against the reference's {r.shape}")
    if not np.isfinite(r).all():
        raise ValueError("the reference holds values that are not finite")
    voiced = r > VOICED_HZ
    if not voiced.any():
        return np.nan
    difference = a[voiced] - r[voiced]
    return float(np.sqrt(np.mean(np.square(difference)))) if np.isfinite(difference).all() else np.inf


@cache
def mel_filters(bands: int) -> NDArray[np.float64]:
    """Build triangular filters, evenly spaced in mel = 2595 log10(1 + Hz / 700) from 0 to 12 kHz, peak 1.

    Returns:
        (WINDOW // 2 + 1, bands) float64.
    """
    top = 2595.0 * np.log10(1.0 + SAMPLE_RATE / 2 / 700.0)
    edges = 700.0 * (10.0 ** (np.linspace(0.0, top, bands + 2) / 2595.0) - 1.0)
    bins = np.arange(WINDOW // 2 + 1)[:, None] * (SAMPLE_RATE / WINDOW)
    rising = (bins - edges[:-2]) / np.diff(edges)[:-1]
    falling = (edges[2:] - bins) / np.diff(edges)[1:]
    return np.maximum(np.minimum(rising, falling), 0.0)


def _level_db(x: NDArray[np.float64]) -> float:
    """Return the root mean square of a signal in dB, without overflow; -inf for silence."""
    scale = float(np.abs(x).max())
    return (
        10.0 * float(np.log10(np.mean(np.square(x / scale)))) + 20.0 * np.log10(scale) if scale else -np.inf
    )


def _check_signals(value: ArrayLike, reference: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return both signals as float64. Raises ValueError; see `lag_samples`."""
    a, r = (np.asarray(x, dtype=np.float64) for x in (value, reference))
    for x in (a, r):
        if x.ndim != 1 or x.size == 0:
            raise ValueError(f"audio of shape (samples,) with at least one sample is needed, not {x.shape}")
    if not np.isfinite(r).all():
        raise ValueError("the reference holds values that are not finite")
    return a, r
