"""Metrics of the similarity of two signals, for gates. Needs only numpy.

All metrics compute in float64. Shapes must be equal: broadcasting would hide a comparison of wrong shapes.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kokoro_tvm.common.constants import SAMPLES_PER_FRAME

Array = NDArray[Any]

WINDOW = 1024
"""Samples of a spectrum's window: 43 ms at 24 kHz, which resolves the harmonics of a low voice."""

HOP = 256
"""Samples from one spectrum to the next: a quarter of the window, so that all samples weigh the same."""


def snr_db(value: ArrayLike, reference: ArrayLike) -> float:
    """Return the signal-to-noise ratio in dB: 10 log10(sum(reference²) / sum((value - reference)²)).

    Equal arrays give +inf. A value that is not finite, or differs from a reference of zeros, gives -inf.

    Args:
        value: Any shape and real dtype.
        reference: The same shape.

    Raises:
        ValueError: Shapes differ, there are no elements, or the reference is not finite.
    """
    a, r = _check_pair(value, reference)
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
    """Return the signal-to-noise ratio of every frame, relative to the energy of the frame.

    Infinities are those of `snr_db`.

    Args:
        value: (..., time).
        reference: The same shape.
        frames: Number of equal pieces of the last axis. Frame i is piece i of all rows.

    Returns:
        (frames,) float64, dB.

    Raises:
        ValueError: As `snr_db`, or the last axis cannot be cut into so many equal pieces.
    """
    a, r = _check_pair(value, reference)
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


def absolute_errors(value: ArrayLike, reference: ArrayLike) -> dict[str, float]:
    """Return mean_abs, max_abs and rms_error of value - reference; +inf if a value is not finite.

    Arguments and errors are those of `snr_db`.
    """
    a, r = _check_pair(value, reference)
    if not np.isfinite(a).all():
        return {"mean_abs": np.inf, "max_abs": np.inf, "rms_error": np.inf}
    difference = np.abs(a - r)
    largest = float(difference.max())
    scale = largest or 1.0
    rms = scale * float(np.sqrt(np.mean(np.square(difference / scale))))
    return {"mean_abs": float(difference.mean()), "max_abs": largest, "rms_error": rms}


def correlation(value: ArrayLike, reference: ArrayLike) -> float:
    """Return the Pearson correlation of all elements, -1 to 1.

    Without variance it is 1 for equal arrays and 0 otherwise; a value that is not finite gives 0. Arguments
    and errors are those of `snr_db`.
    """
    a, r = _check_pair(value, reference)
    if not np.isfinite(a).all():
        return 0.0
    # One scale each keeps the squares of very small and very large values representable, and cancels.
    first, second = (x / (float(np.abs(x).max()) or 1.0) for x in (a, r))
    return _pearson(first, second, equal=np.array_equal(a, r))


def count_off(value: ArrayLike, expected: ArrayLike) -> float:
    """Count the elements that differ from the expected ones, as NaN always does.

    If shapes differ, the number of expected elements is returned.
    """
    a, e = np.asarray(value), np.asarray(expected)
    return float(np.count_nonzero(a != e) if a.shape == e.shape else e.size)


def finite_fraction(value: ArrayLike) -> float:
    """Return the fraction of finite elements, 0 to 1. Raises ValueError if there are no elements."""
    a = np.asarray(value)
    if a.size == 0:
        raise ValueError("no elements to measure")
    return float(np.count_nonzero(np.isfinite(a)) / a.size)


def magnitude_spectrum(audio: ArrayLike, hop: int = HOP) -> NDArray[np.float64]:
    """Return the linear short-time magnitude spectrum |sum_n w[n] x[hop·i + n] exp(-2πjkn/window)|.

    w is the periodic Hann window. Zeros surround the signal, window/2 on either side and at the end as many
    more as complete the last frame.

    Args:
        audio: (samples,).
        hop: Samples from one frame to the next.

    Returns:
        (frames, WINDOW // 2 + 1) float64.

    Raises:
        ValueError: The audio is not 1-D or empty.
    """
    x = np.asarray(audio, dtype=np.float64)
    if x.ndim != 1 or x.size == 0:
        raise ValueError(f"audio of shape (samples,) with at least one sample is needed, not {x.shape}")
    half = WINDOW // 2
    frames = 1 + -(-x.size // hop)
    padded = np.zeros((frames - 1) * hop + WINDOW)
    padded[half : half + x.size] = x
    hann = 0.5 - 0.5 * np.cos(2.0 * np.pi * np.arange(WINDOW) / WINDOW)
    rows = np.lib.stride_tricks.sliding_window_view(padded, WINDOW)[::hop]
    return np.abs(np.fft.rfft(rows * hann, axis=-1))


def magnitude_correlation(value: ArrayLike, reference: ArrayLike) -> float:
    """Return the Pearson correlation of two signals' magnitude spectra over all frames and bins.

    Arguments are (samples,). Special cases and errors are those of `correlation`.
    """
    a, r = _check_pair(value, reference)
    if not np.isfinite(a).all():
        return 0.0
    spectra = [magnitude_spectrum(x / (float(np.abs(x).max()) or 1.0)) for x in (a, r)]
    return _pearson(*spectra, equal=np.array_equal(a, r))


def measure(
    value: Array, truth: Array, pytorch: Array | None = None, frames: int | None = None
) -> dict[str, float]:
    """Compute metrics of `value` against `truth`, by name.

    Always: mean_abs, max_abs, rms_error, snr_db, correlation, finite_fraction.

    Args:
        value: (..., time).
        truth: The same shape.
        pytorch: PyTorch float32 on the same inputs, for pytorch_snr_db and gain_db. If its shape
            differs, both are NaN.
        frames: Number of tokens or frames, for frame_snr_median_db, frame_snr_p5_db (5th percentile),
            first_frame_snr_db and last_frame_snr_db.

    Raises:
        ValueError: As `snr_db` and `frame_snrs_db`.
    """
    snr = snr_db(value, truth)
    metrics = {
        **absolute_errors(value, truth),
        "snr_db": snr,
        "correlation": correlation(value, truth),
        "finite_fraction": finite_fraction(value),
    }
    if pytorch is not None:
        theirs = snr_db(pytorch, truth) if pytorch.shape == truth.shape else math.nan
        metrics["pytorch_snr_db"] = theirs
        # inf - inf would be NaN.
        metrics["gain_db"] = 0.0 if snr == theirs else snr - theirs
    if frames is not None:
        snrs = frame_snrs_db(value, truth, frames)
        # Interpolation between two infinities would be NaN.
        p5, median = np.percentile(snrs, (5, 50), method="lower")
        metrics |= {"frame_snr_median_db": float(median), "frame_snr_p5_db": float(p5)}
        metrics |= {"first_frame_snr_db": float(snrs[0]), "last_frame_snr_db": float(snrs[-1])}
    return metrics


def measure_audio(
    value: Array, truth: Array, pytorch: Array | None = None, exact: Array | None = None
) -> dict[str, float]:
    """Compute `measure` of audio by frames of the model, and magnitude_correlation.

    Args:
        value: (600F,).
        truth: The same shape.
        pytorch: See `measure`.
        exact: The truth with exact phases (`ExactPhases`), for exact_snr_db, exact_frame_snr_median_db,
            exact_frame_snr_p5_db and pytorch_exact_snr_db.

    Raises:
        ValueError: As `measure`, or the audio is not 1-D or not whole frames.
    """
    frames = truth.size // SAMPLES_PER_FRAME
    metrics = measure(value, truth, pytorch, frames)
    metrics["magnitude_correlation"] = magnitude_correlation(value, truth)
    if exact is not None:
        column = measure(value, exact, pytorch, frames)
        metrics |= {
            f"exact_{name}": column[name] for name in ("snr_db", "frame_snr_median_db", "frame_snr_p5_db")
        }
        if pytorch is not None:
            metrics["pytorch_exact_snr_db"] = column["pytorch_snr_db"]
    return metrics


def _pearson(a: NDArray[np.float64], r: NDArray[np.float64], *, equal: bool) -> float:
    """Return the Pearson correlation of flat arrays; without variance, whether they are equal."""
    first, second = a - a.mean(), r - r.mean()
    norm = float(np.sqrt(np.sum(np.square(first)) * np.sum(np.square(second))))
    if norm == 0.0:
        return 1.0 if equal else 0.0
    # Rounding may carry the quotient a few ulps past one.
    return float(np.clip(np.sum(first * second) / norm, -1.0, 1.0))


def _check_pair(value: ArrayLike, reference: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return both arrays as float64. Raises ValueError; see `snr_db`."""
    a, r = np.asarray(value), np.asarray(reference)
    if a.shape != r.shape:
        raise ValueError(f"shapes differ: {a.shape} against the reference's {r.shape}")
    if a.size == 0:
        raise ValueError("no elements to compare")
    r = r.astype(np.float64)
    if not np.isfinite(r).all():
        raise ValueError("the reference holds values that are not finite")
    return a.astype(np.float64), r
