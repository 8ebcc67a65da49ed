"""Measures a value against the truth and beside PyTorch float32: all that gates are about (numpy only)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kokoro_tvm.constants import SAMPLES_PER_FRAME
from kokoro_tvm.measure.metrics import (
    correlation,
    finite_fraction,
    frame_snrs_db,
    magnitude_correlation,
    max_abs,
    mean_abs,
    rms_error,
    snr_db,
)

__all__ = ["measure", "measure_audio"]

_EXACT = ("snr_db", "frame_snr_median_db", "frame_snr_p5_db")
"""What is measured against the truth with exact phases, too."""

Array = NDArray[Any]


def measure(
    value: Array, truth: Array, pytorch: Array | None = None, frames: int | None = None
) -> dict[str, float]:
    """Metrics of `value` against `truth`, by name; both of one shape, time last.

    Always: mean_abs, max_abs and rms_error in the value's own unit, snr_db, correlation, finite_fraction.
    With `pytorch`, PyTorch float32 on the same inputs: pytorch_snr_db and gain_db = snr_db - pytorch_snr_db,
    0 where both are exact and NaN where PyTorch's shape differs. With `frames`, into how many pieces time is
    cut (tokens or frames): frame_snr_median_db and frame_snr_p5_db, the median and the 5th percentile of
    `frame_snrs_db`, first_frame_snr_db and last_frame_snr_db. Raises ValueError as `snr_db` and
    `frame_snrs_db` do.
    """
    snr = snr_db(value, truth)
    metrics = {
        "mean_abs": mean_abs(value, truth),
        "max_abs": max_abs(value, truth),
        "rms_error": rms_error(value, truth),
        "snr_db": snr,
        "correlation": correlation(value, truth),
        "finite_fraction": finite_fraction(value),
    }
    if pytorch is not None:
        theirs = snr_db(pytorch, truth) if pytorch.shape == truth.shape else math.nan
        metrics["pytorch_snr_db"] = theirs
        # inf - inf would be no number.
        metrics["gain_db"] = 0.0 if snr == theirs else snr - theirs
    if frames is not None:
        snrs = frame_snrs_db(value, truth, frames)
        # Of infinities, a percentile between two neighbours would be no number: one of them is taken.
        p5, median = np.percentile(snrs, (5, 50), method="lower")
        metrics |= {"frame_snr_median_db": float(median), "frame_snr_p5_db": float(p5)}
        metrics |= {"first_frame_snr_db": float(snrs[0]), "last_frame_snr_db": float(snrs[-1])}
    return metrics


def measure_audio(
    value: Array, truth: Array, pytorch: Array | None = None, exact: Array | None = None
) -> dict[str, float]:
    """`measure` of (600F,) samples with the model's F frames, and magnitude_correlation.

    With `exact`, the truth with exact phases (`truth.exact`): exact_snr_db, exact_frame_snr_median_db and
    exact_frame_snr_p5_db, and of PyTorch float32 pytorch_exact_snr_db. Raises ValueError as `measure`
    does, and for audio that is not 1-D or not whole frames.
    """
    frames = truth.size // SAMPLES_PER_FRAME
    metrics = measure(value, truth, pytorch, frames)
    metrics["magnitude_correlation"] = magnitude_correlation(value, truth)
    if exact is not None:
        column = measure(value, exact, pytorch, frames)
        metrics |= {f"exact_{name}": column[name] for name in _EXACT}
        if pytorch is not None:
            metrics["pytorch_exact_snr_db"] = column["pytorch_snr_db"]
    return metrics
