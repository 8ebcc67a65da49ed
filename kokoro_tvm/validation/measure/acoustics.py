"""How near one utterance sounds to another: metrics that know what sound is (numpy only).

Everything is computed in float64 whatever the inputs' dtype, from samples at 24 kHz.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kokoro_tvm.common.constants import SAMPLE_RATE
from kokoro_tvm.validation.measure.metrics import WINDOW, correlation, magnitude_spectrum

__all__ = [
    "VOICED_HZ",
    "f0_rmse_hz",
    "lag_samples",
    "log_mel_correlation",
    "loudness_ratio_db",
    "mel_filters",
    "mel_power",
]

MELS = 80
"""Bands of `log_mel_correlation`: what speech models are commonly trained on."""

MEL_RANGE_DB = 80.0
"""How far below the reference's loudest band a log-mel spectrum reaches; what is quieter counts as this."""

VOICED_HZ = 10.0
"""Pitch above which a frame counts as voiced. Where there is no pitch the model predicts about zero."""


def lag_samples(value: ArrayLike, reference: ArrayLike) -> float:
    """By how many samples `value` is late: the L with the largest sum_n value[n + L] reference[n].

    The full cross-correlation, by FFT, of two (samples,) signals of any lengths; negative when `value` is
    early; of equal maxima the one nearest to zero. NaN when either is silent or `value` is not finite: the
    lag is undefined then. Raises ValueError when either is not 1-D or has no samples, or the reference is
    not finite.
    """
    a, r = _signals(value, reference)
    if not np.isfinite(a).all() or not a.any() or not r.any():
        return np.nan
    size = 1 << int(a.size + r.size - 2).bit_length()
    spectra = [np.fft.rfft(x / np.abs(x).max(), size) for x in (a, r)]
    products = np.fft.irfft(spectra[0] * spectra[1].conj(), size)
    lags = np.arange(1 - r.size, a.size)
    products = products[lags]  # a negative lag is counted from the end, as the circular correlation has it
    # Rounding parts what is equal by some ulps of the largest: those are taken for equal.
    best = lags[products >= products.max() - 1e-12 * float(np.abs(products).max())]
    return float(best[np.abs(best).argmin()])


def loudness_ratio_db(value: ArrayLike, reference: ArrayLike) -> float:
    """How much louder `value` is: 10 log10(mean(value²) / mean(reference²)), dB of RMS level, unweighted.

    Both (samples,), of any lengths. A silent `value` gives -inf, against a silent reference 0, and any other
    against that +inf; one that is not finite gives NaN. Raises ValueError as `lag_samples` does.
    """
    a, r = _signals(value, reference)
    if not np.isfinite(a).all():
        return np.nan
    first, second = _level_db(a), _level_db(r)
    return 0.0 if first == second else first - second


def mel_power(audio: ArrayLike, bands: int) -> NDArray[np.float64]:
    """Power of (samples,) audio in mel bands, `magnitude_spectrum`² @ `mel_filters`: (frames, bands)."""
    return np.square(magnitude_spectrum(audio)) @ mel_filters(bands)


def log_mel_correlation(value: ArrayLike, reference: ArrayLike) -> float:
    """Pearson correlation of two signals' log-mel spectra: 80 bands to 12 kHz, dB, frames and bands in one.

    Both of shape (samples,). Power more than 80 dB below the reference's loudest band counts as 80 dB below:
    what nobody hears would outweigh the rest otherwise. -1 to 1; loudness cancels above that floor. Silence
    against silence gives 1 and against sound 0; a value that is not finite gives 0. Raises ValueError when
    shapes differ, else as `lag_samples` does.
    """
    a, r = _signals(value, reference)
    if a.shape != r.shape:
        raise ValueError(f"shapes differ: {a.shape} against the reference's {r.shape}")
    if not np.isfinite(a).all():
        return 0.0
    # One scale for both keeps the squares of very small and very large samples representable.
    scale = float(np.abs(r).max()) or 1.0
    spectra = [mel_power(x / scale, MELS) for x in (a, r)]
    floor = spectra[1].max() * 10.0 ** (-MEL_RANGE_DB / 10.0)
    if floor == 0.0:
        return 0.0 if a.any() else 1.0
    levels = [10.0 * np.log10(np.maximum(power, floor)) for power in spectra]
    return correlation(*levels)


def f0_rmse_hz(value: ArrayLike, reference: ArrayLike) -> float:
    """Root mean square difference of two pitch curves where the reference is voiced, Hz.

    sqrt(mean((value - reference)²)) over the entries with reference > 10 Hz; both (1, 2F) or (2F,), pitch in
    Hz as the models themselves predict it, twice a frame. The model's pitch of an unvoiced frame is near zero
    and drives no harmonic: it is left out. NaN when nothing is voiced, +inf when a compared value is not
    finite. Raises ValueError when shapes differ, there are no elements, or the reference is not finite.
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
    """Triangular filters, evenly spaced in mel = 2595 log10(1 + Hz / 700) from 0 to 12 kHz, peak 1.

    (WINDOW // 2 + 1, bands) float64, to be multiplied from the right with a power spectrum.
    """
    top = 2595.0 * np.log10(1.0 + SAMPLE_RATE / 2 / 700.0)
    edges = 700.0 * (10.0 ** (np.linspace(0.0, top, bands + 2) / 2595.0) - 1.0)
    bins = np.arange(WINDOW // 2 + 1)[:, None] * (SAMPLE_RATE / WINDOW)
    rising = (bins - edges[:-2]) / np.diff(edges)[:-1]
    falling = (edges[2:] - bins) / np.diff(edges)[1:]
    return np.maximum(np.minimum(rising, falling), 0.0)


def _level_db(x: NDArray[np.float64]) -> float:
    scale = float(np.abs(x).max())
    return (
        10.0 * float(np.log10(np.mean(np.square(x / scale)))) + 20.0 * np.log10(scale) if scale else -np.inf
    )


def _signals(value: ArrayLike, reference: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    a, r = (np.asarray(x, dtype=np.float64) for x in (value, reference))
    for x in (a, r):
        if x.ndim != 1 or x.size == 0:
            raise ValueError(f"audio of shape (samples,) with at least one sample is needed, not {x.shape}")
    if not np.isfinite(r).all():
        raise ValueError("the reference holds values that are not finite")
    return a, r
