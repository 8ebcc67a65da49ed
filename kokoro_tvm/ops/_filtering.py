"""Minimal filtering in one dimension: `outputs` results of a filter of `taps` taps from `outputs + taps - 1`
products instead of `outputs * taps`.

Toom and Cook's construction, turned round as Winograd did: filter and signal are evaluated at as many points,
multiplied point by point, and interpolated. Points are chosen, and rows scaled by powers of two, so that
float32 loses little: see `_POINTS`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

import numpy as np

__all__ = ["DIRECT", "MOST_POINTS", "Filtering", "Transforms", "transforms"]


def _fractions(*values: str) -> tuple[Fraction, ...]:
    return tuple(map(Fraction, values))


# In the order in which they are taken: small, and apart from one another. The last point is infinity.
_POINTS = _fractions("0", "1", "-1", "2", "-2", "1/2", "-1/2", "3/2", "-2/3", "-3/2")
_BETTER = {  # what lost least of all sets tried of that size: a fifth and a tenth less than the above
    6: _fractions("0", "1", "-1", "1/2", "-2"),
    7: _fractions("0", "1", "-1", "1/2", "-2/3", "3"),
}

MOST_POINTS = len(_POINTS) + 1


@dataclass(frozen=True)
class Filtering:
    """How many results a tile yields, and how many taps it takes at a time; 1 and 1 is plain convolution."""

    outputs: int
    taps: int

    @property
    def points(self) -> int:
        """Products per tile; more points save more products and lose more bits."""
        return self.outputs + self.taps - 1


DIRECT = Filtering(1, 1)


@dataclass(frozen=True)
class Transforms:
    """float64 matrices with: results = output @ ((weight @ taps) * (signal @ samples)).

    output (outputs, points), weight (points, taps), signal (points, points).
    """

    output: np.ndarray
    weight: np.ndarray
    signal: np.ndarray


@cache
def transforms(filtering: Filtering) -> Transforms:
    """The matrices of F(outputs, taps). Raises ValueError where there are not enough points."""
    m, r, n = filtering.outputs, filtering.taps, filtering.points
    if n == 1:
        one = np.ones((1, 1))
        return Transforms(one, one, one)
    if n - 1 > len(_POINTS):
        raise ValueError(f"F({m}, {r}) needs {n} points, at most {len(_POINTS) + 1} are known")
    points = _BETTER.get(n, _POINTS[: n - 1])
    output = [[a**j for a in points] + [Fraction(int(j == m - 1))] for j in range(m)]
    weight, signal = [], []
    for a in points:
        others = [b for b in points if b != a]
        scale = Fraction(1)
        for b in others:
            scale *= a - b
        weight.append([a**k / scale for k in range(r)])
        signal.append([*_polynomial(others), Fraction(0)])
    weight.append([Fraction(int(k == r - 1)) for k in range(r)])
    signal.append(_polynomial(points))
    return _balanced(*(np.array(matrix, dtype=np.float64) for matrix in (output, weight, signal)))


def _polynomial(roots: Sequence[Fraction]) -> list[Fraction]:
    """Coefficients of the product of (x - root), lowest power first."""
    result = [Fraction(1)]
    for root in roots:
        shifted = [Fraction(0), *result]
        result = [s - root * c for s, c in zip(shifted, [*result, Fraction(0)], strict=True)]
    return result


def _balanced(output: np.ndarray, weight: np.ndarray, signal: np.ndarray) -> Transforms:
    """The same with transforms of about unit gain at every point; the weights, which are transformed in
    float64, take what that costs."""

    def power(vectors: np.ndarray) -> np.ndarray:
        return 2.0 ** -np.round(np.log2(np.linalg.norm(vectors, axis=1)))

    by_signal, by_output = power(signal), power(output.T)
    weight = weight / (by_signal * by_output)[:, None]
    return Transforms(output * by_output, weight, signal * by_signal[:, None])
