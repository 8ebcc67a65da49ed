"""Compare one value of compiled code with PyTorch, and decide whether it diverges. Needs only numpy."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kokoro_tvm.tools.lab.probe.values import Value
from kokoro_tvm.validation.measure.gates import to_json
from kokoro_tvm.validation.measure.metrics import finite_fraction, snr_db

Array = NDArray[Any]

ALLOWANCE = 10.0
"""Multiple of PyTorch float32's error that is always allowed: such a value is ill-conditioned."""

_HEAD = 4  # elements


@dataclass(frozen=True)
class Summary:
    """Statistics of a tensor; those from `min` to `max` are of its finite elements."""

    finite_fraction: float
    min: float
    p1: float
    median: float
    p99: float
    max: float
    head: tuple[float, ...]
    """The first elements."""

    @classmethod
    def of(cls, array: Array) -> Summary:
        """Summarize an array of any shape and dtype; NaN without a finite element."""
        flat = np.asarray(array, np.float64).ravel()
        finite = flat[np.isfinite(flat)]
        data = np.percentile(finite, (0, 1, 50, 99, 100)) if finite.size else np.full(5, np.nan)
        low, p1, median, p99, high = map(float, data)
        head = tuple(map(float, flat[:_HEAD]))
        return cls(finite_fraction(flat), low, p1, median, p99, high, head)

    def to_json(self) -> dict[str, Any]:
        """Return the fields as JSON data."""
        return to_json(self, *(field.name for field in fields(self)))


@dataclass(frozen=True)
class ProbeRow:
    """One value; the errors of compiled code and of PyTorch float32 are relative to float64."""

    value: Value
    shape: tuple[int, ...]
    tvm: Summary
    pytorch: Summary
    error: float
    pytorch_error: float
    tolerance: float

    @property
    def diverges(self) -> bool:
        """True if the error exceeds both the tolerance and `ALLOWANCE` times that of PyTorch."""
        return self.error > max(self.tolerance, ALLOWANCE * self.pytorch_error)

    def to_json(self) -> dict[str, Any]:
        """Return the fields as JSON data."""
        value = to_json(self.value, "name", "operation", "weights")
        row = to_json(self, "tvm", "pytorch", "error", "pytorch_error", "diverges")
        return {**value, "shape": list(self.shape), "dtype": self.value.dtype, **row}


def compare(value: Value, tvm: Array, pytorch: Array, truth: Array, tolerance: float) -> ProbeRow:
    """Compare `tvm` and `pytorch` (float32) with `truth` (float64), all of one shape."""
    return ProbeRow(
        value,
        tuple(tvm.shape),
        Summary.of(tvm),
        Summary.of(pytorch),
        _relative_error(tvm, truth),
        _relative_error(pytorch, truth),
        tolerance,
    )


def _relative_error(array: Array, truth: Array) -> float:
    """Return ||array - truth|| / ||truth|| over the elements of which the truth is finite."""
    finite = np.isfinite(truth)
    if not finite.any():
        return 0.0
    return float(10.0 ** (-snr_db(array[finite], truth[finite]) / 20.0))


def reduce_moments(array: Array) -> Array:
    """Reduce moments (slots, 4, C) to mean and variance of every channel: (2, C) float64.

    Two kernels may choose different blocks, so that only these agree.
    """
    pivot, total, squares, steps = np.asarray(array, np.float64).transpose(1, 0, 2)
    nonempty = steps[:, 0] > 0
    pivot, total, squares, steps = pivot[nonempty], total[nonempty], squares[nonempty], steps[nonempty]
    means = pivot + total / steps
    mean = np.average(means, axis=0, weights=steps)
    variance = np.average((squares - total**2 / steps) / steps + (means - mean) ** 2, axis=0, weights=steps)
    return np.stack([mean, variance])
