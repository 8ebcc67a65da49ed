"""How near one signal is to another: the numbers gates are made of (numpy only).

Everything is computed in float64 whatever the inputs' dtype. Shapes must be equal: nothing is ever broadcast,
because a comparison of the wrong shapes would yield a number all the same.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = [
    "HOP",
    "WINDOW",
    "correlation",
    "finite_fraction",
    "frame_snrs_db",
    "magnitude_correlation",
    "magnitude_spectrum",
    "max_abs",
    "mean_abs",
    "rms_error",
    "snr_db",
]

WINDOW = 1024
"""Samples of one spectrum's window: 43 ms at 24 kHz, long enough to resolve the harmonics of a low voice."""

HOP = 256
"""Samples from one spectrum to the next: a quarter of the window, so that every sample weighs the same."""


def snr_db(value: ArrayLike, reference: ArrayLike) -> float:
    """Signal-to-noise ratio of `value` in dB: 10 log10(sum(reference²) / sum((value - reference)²)).

    Both of one shape, any real dtype. Equal arrays give +inf. A value that is not finite, or an error against
    a reference that is zero everywhere, gives -inf. Raises ValueError when shapes differ, there are no
    elements, or the reference itself is not finite.
    """
    a, r = _pair(value, reference)
    if not np.isfinite(a).all():
        return -np.inf
    # One scale for both keeps the squares of very small and very large values representable, and cancels.
    scale = max(float(np.abs(r).max()), float(np.abs(a).max())) or 1.0
    error = float(np.sum(np.square(a / scale - r / scale)))
    signal = float(np.sum(np.square(r / scale)))
    if error == 0.0:
        return np.inf
    return float(10.0 * np.log10(signal / error)) if signal > 0.0 else -np.inf


def frame_snrs_db(value: ArrayLike, reference: ArrayLike, frames: int) -> NDArray[np.float64]:
    """Signal-to-noise ratio of every frame in dB, (frames,) float64.

    The last axis is cut into `frames` equal pieces; frame i is piece i of all rows:
    SNR_i = 10 log10(sum(reference_i²) / sum((value_i - reference_i)²)).
    A silent frame counts like a loud one, relative to its own energy: floating point is as exact there. Equal
    frames give +inf; a frame that holds a value that is not finite, or errs where the reference is zero
    throughout, gives -inf. Raises ValueError as `snr_db` does, and where the last axis cannot be cut into so
    many equal pieces.
    """
    a, r = _pair(value, reference)
    if frames < 1 or a.shape[-1] % frames:
        raise ValueError(f"{a.shape[-1]} elements cannot be cut into {frames} equal frames")
    finite = np.isfinite(a)
    # One scale for both keeps the squares of very small and very large values representable, and cancels.
    first, second = (np.where(finite, x, 0.0).reshape(-1, frames, a.shape[-1] // frames) for x in (a, r))
    scale = np.maximum(np.abs(first).max((0, 2)), np.abs(second).max((0, 2)))
    scale = np.where(scale > 0.0, scale, 1.0)[:, None]
    noise = np.square(first / scale - second / scale).sum((0, 2))
    signal = np.square(second / scale).sum((0, 2))
    with np.errstate(divide="ignore", invalid="ignore"):
        snrs = np.where(noise == 0.0, np.inf, 10.0 * np.log10(signal / noise))
    whole = finite.reshape(-1, frames, a.shape[-1] // frames).all((0, 2))
    return np.where(whole, snrs, -np.inf)


def max_abs(value: ArrayLike, reference: ArrayLike) -> float:
    """Largest absolute difference: max |value - reference|, in the arrays' own unit.

    Both of one shape. +inf when a value is not finite. Raises ValueError as `snr_db` does.
    """
    a, r = _pair(value, reference)
    return float(np.abs(a - r).max()) if np.isfinite(a).all() else np.inf


def mean_abs(value: ArrayLike, reference: ArrayLike) -> float:
    """Mean absolute difference: mean |value - reference|, in the arrays' own unit; else as `max_abs`."""
    a, r = _pair(value, reference)
    return float(np.abs(a - r).mean()) if np.isfinite(a).all() else np.inf


def rms_error(value: ArrayLike, reference: ArrayLike) -> float:
    """Root mean square difference: sqrt(mean((value - reference)²)), in the arrays' own unit; else as
    `max_abs`."""
    a, r = _pair(value, reference)
    if not np.isfinite(a).all():
        return np.inf
    difference = np.abs(a - r)
    scale = float(difference.max()) or 1.0
    return scale * float(np.sqrt(np.mean(np.square(difference / scale))))


def correlation(value: ArrayLike, reference: ArrayLike) -> float:
    """Pearson correlation of all elements of two arrays of one shape, -1 to 1.

    Two arrays without any variance give 1 when they are equal and 0 otherwise; a value that is not finite
    gives 0. Raises ValueError as `snr_db` does.
    """
    a, r = _pair(value, reference)
    if not np.isfinite(a).all():
        return 0.0
    # One scale each keeps the squares of very small and very large values representable, and cancels.
    first, second = (x / (float(np.abs(x).max()) or 1.0) for x in (a, r))
    return _pearson(first, second, equal=np.array_equal(a, r))


def finite_fraction(value: ArrayLike) -> float:
    """Fraction of elements that are neither NaN nor infinite: count(isfinite(value)) / count(value), 0 to 1.

    Raises ValueError when there are no elements.
    """
    a = np.asarray(value)
    if a.size == 0:
        raise ValueError("no elements to measure")
    return float(np.count_nonzero(np.isfinite(a)) / a.size)


def magnitude_spectrum(audio: ArrayLike, window: int = WINDOW, hop: int = HOP) -> NDArray[np.float64]:
    """Linear short-time magnitude spectrum |sum_n w[n] x[hop·i + n] exp(-2πjkn/window)| of (samples,) audio.

    w is the periodic Hann window. The signal is surrounded by window/2 zeros on either side and by as
    many more at its end as complete the last frame, so every sample is seen and a signal shorter than
    the window has a spectrum too. Returns (frames, window // 2 + 1) float64. Raises ValueError unless
    audio is 1-D and not empty.
    """
    x = np.asarray(audio, dtype=np.float64)
    if x.ndim != 1 or x.size == 0:
        raise ValueError(f"audio of shape (samples,) with at least one sample is needed, not {x.shape}")
    half = window // 2
    frames = 1 + -(-x.size // hop)
    padded = np.zeros((frames - 1) * hop + window)
    padded[half : half + x.size] = x
    hann = 0.5 - 0.5 * np.cos(2.0 * np.pi * np.arange(window) / window)
    rows = np.lib.stride_tricks.sliding_window_view(padded, window)[::hop]
    return np.abs(np.fft.rfft(rows * hann, axis=-1))


def magnitude_correlation(
    value: ArrayLike, reference: ArrayLike, window: int = WINDOW, hop: int = HOP
) -> float:
    """Pearson correlation of two (samples,) signals' linear magnitude spectra, all frames and bins in one.

    corr = sum((A - mean A)(R - mean R)) / sqrt(sum((A - mean A)²) sum((R - mean R)²)), A and R by
    `magnitude_spectrum`. -1 to 1; loudness cancels. Two signals without any variance (silence) give 1 when
    their spectra are equal and 0 otherwise; a value that is not finite gives 0. Raises ValueError as `snr_db`
    does.
    """
    a, r = _pair(value, reference)
    if not np.isfinite(a).all():
        return 0.0
    spectra = [magnitude_spectrum(x / (float(np.abs(x).max()) or 1.0), window, hop) for x in (a, r)]
    return _pearson(*spectra, equal=np.array_equal(a, r))


def _pearson(a: NDArray[np.float64], r: NDArray[np.float64], *, equal: bool) -> float:
    first, second = a - a.mean(), r - r.mean()
    norm = float(np.sqrt(np.sum(np.square(first)) * np.sum(np.square(second))))
    if norm == 0.0:
        return 1.0 if equal else 0.0
    # Rounding may carry the quotient a few ulps past one.
    return float(np.clip(np.sum(first * second) / norm, -1.0, 1.0))


def _pair(value: ArrayLike, reference: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    a, r = np.asarray(value), np.asarray(reference)
    if a.shape != r.shape:
        raise ValueError(f"shapes differ: {a.shape} against the reference's {r.shape}")
    if a.size == 0:
        raise ValueError("no elements to compare")
    r = r.astype(np.float64)
    if not np.isfinite(r).all():
        raise ValueError("the reference holds values that are not finite")
    return a.astype(np.float64), r
