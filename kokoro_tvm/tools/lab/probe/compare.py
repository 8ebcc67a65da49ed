"""Compares one value of compiled code with PyTorch and decides whether it diverges (numpy only)."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kokoro_tvm.tools.lab.probe.values import Value
from kokoro_tvm.validation.measure.gates import number
from kokoro_tvm.validation.measure.metrics import finite_fraction, snr_db

__all__ = ["ALLOWANCE", "ProbeRow", "Summary", "comparable", "compare", "relative_error"]

Array = NDArray[Any]

ALLOWANCE = 10.0
"""How many times farther off than PyTorch float32 a value may be whatever the tolerance: where PyTorch itself
is far off, the value is ill-conditioned and no kernel is to blame."""

_HEAD = 4


@dataclass(frozen=True)
class Summary:
    """What is in a tensor; all but `finite_fraction` and `head` are about its finite elements."""

    finite_fraction: float
    min: float
    p1: float
    median: float
    p99: float
    max: float
    head: tuple[float, ...]
    """The first elements, as they are."""

    @classmethod
    def of(cls, array: Array) -> Summary:
        """Of any shape and dtype; NaN where there is no finite element."""
        flat = np.asarray(array, np.float64).ravel()
        finite = flat[np.isfinite(flat)]
        data = np.percentile(finite, (0, 1, 50, 99, 100)) if finite.size else np.full(5, np.nan)
        low, p1, median, p99, high = map(float, data)
        head = tuple(map(float, flat[:_HEAD]))
        return cls(finite_fraction(flat), low, p1, median, p99, high, head)

    def to_json(self) -> dict[str, Any]:
        """Plain data for a JSON file."""
        data = {key: number(value) for key, value in asdict(self).items() if key != "head"}
        return data | {"head": [number(value) for value in self.head]}


@dataclass(frozen=True)
class ProbeRow:
    """One value. error, pytorch_error: relative, of compiled code and of PyTorch float32, against float64."""

    value: Value
    shape: tuple[int, ...]
    tvm: Summary
    pytorch: Summary
    error: float
    pytorch_error: float
    tolerance: float

    @property
    def diverges(self) -> bool:
        """Whether it is farther off than the tolerance, and more than `ALLOWANCE` times as far as PyTorch."""
        return self.error > max(self.tolerance, ALLOWANCE * self.pytorch_error)

    def to_json(self) -> dict[str, Any]:
        """Plain data for a JSON file."""
        return {
            "name": self.value.name,
            "operation": self.value.operation,
            "weights": list(self.value.weights),
            "shape": list(self.shape),
            "dtype": self.value.dtype,
            "tvm": self.tvm.to_json(),
            "pytorch": self.pytorch.to_json(),
            "error": number(self.error),
            "pytorch_error": number(self.pytorch_error),
            "diverges": self.diverges,
        }


def compare(value: Value, tvm: Array, pytorch: Array, truth: Array, tolerance: float) -> ProbeRow:
    """`tvm` and `pytorch` (float32) held against `truth` (float64), all of one shape."""
    return ProbeRow(
        value,
        tuple(tvm.shape),
        Summary.of(tvm),
        Summary.of(pytorch),
        relative_error(tvm, truth),
        relative_error(pytorch, truth),
        tolerance,
    )


def relative_error(array: Array, truth: Array) -> float:
    """||array - truth|| / ||truth||: 0 when equal, infinite when it is not finite where the truth is.

    Where the truth is not finite either there is nothing to measure, and only the finite rest counts.
    """
    known = np.isfinite(truth)
    if not known.any():
        return 0.0
    return float(10.0 ** (-snr_db(array[known], truth[known]) / 20.0))


def comparable(value: Value, array: Array) -> Array:
    """What two implementations of an operation have to agree on: the array itself, or what is made of it.

    Moments (slots, 4, C) are kept in blocks of the kernel's own choice. Of all together there is but one mean
    and one variance a channel: (2, C) float64.
    """
    if value.operation != "moments":
        return array
    pivot, total, squares, steps = np.asarray(array, np.float64).transpose(1, 0, 2)
    used = steps[:, 0] > 0
    pivot, total, squares, steps = pivot[used], total[used], squares[used], steps[used]
    means = pivot + total / steps
    mean = np.average(means, axis=0, weights=steps)
    variance = np.average((squares - total**2 / steps) / steps + (means - mean) ** 2, axis=0, weights=steps)
    return np.stack([mean, variance])
