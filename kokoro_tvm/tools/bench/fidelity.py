"""Measure how like the stock model's speech in float64 a system's speech is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kokoro_tvm.common.constants import SAMPLE_RATE
from kokoro_tvm.tools.bench.engine import BenchUtterance
from kokoro_tvm.validation.measure.metrics import correlation, magnitude_spectrum

HOP = 200
"""Samples from one spectrum to the next: a third of a frame, so that a shift by frames is one by spectra."""

_REACH = SAMPLE_RATE // 3 // HOP  # spectra that speech may run ahead of the truth or behind it

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Truth:
    """An utterance, and its speech by the stock model in float64 without noise, (samples,)."""

    utterance: BenchUtterance
    audio: NDArray[Any]


def fidelity(audio: NDArray[Any], truth: NDArray[Any]) -> float:
    """Return the Pearson correlation of two signals' magnitude spectra, aligned in time.

    Loudness does not matter. The alignment makes up for tokens that got another number of frames.

    Args:
        audio: (samples,).
        truth: (samples,), at most a third of a second longer or shorter.

    Returns:
        -1 to 1; 0 if a sample is not finite or the lengths differ by more.
    """
    if not np.isfinite(audio).all():
        return 0.0
    spectra = [magnitude_spectrum(x / (float(np.abs(x).max()) or 1.0), HOP) for x in (audio, truth)]
    path = _align(*map(np.sqrt, spectra))  # the root weighs quiet sounds more
    if not path[0].size:
        return 0.0
    return correlation(*(spectrum[places] for spectrum, places in zip(spectra, path, strict=True)))


def _align(a: Array, b: Array) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the places in two spectra that dynamic time warping pairs (Sakoe and Chiba, 1978).

    Args:
        a: (frames, bins).
        b: The same, with another number of frames.

    Returns:
        Two arrays of the same length; they are empty if the numbers of frames differ too much.
    """
    squares = np.square(a).sum(1)[:, None] + np.square(b).sum(1) - 2.0 * (a @ b.T)
    costs = np.sqrt(np.maximum(squares, 0.0)).tolist()
    totals = [[0.0, *[np.inf] * len(b)], *([np.inf] * (len(b) + 1) for _ in a)]
    for i in range(1, len(a) + 1):
        before, row = totals[i - 1], totals[i]
        for j in range(max(1, i - _REACH), min(len(b), i + _REACH) + 1):
            row[j] = costs[i - 1][j - 1] + min(before[j - 1], before[j], row[j - 1])
    i, j, pairs = len(a), len(b), []
    while i and j and np.isfinite(totals[i][j]):
        pairs.append((i - 1, j - 1))
        i, j = min(((i - 1, j - 1), (i - 1, j), (i, j - 1)), key=lambda place: totals[place[0]][place[1]])
    first, second = np.array(pairs[::-1], np.int64).reshape(-1, 2).T
    return first, second
