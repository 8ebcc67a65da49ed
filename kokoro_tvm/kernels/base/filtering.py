"""Minimal filtering (Winograd convolution) in one dimension.

F(m, r) computes m results of a filter of r taps from m + r - 1 products instead of m * r. The construction is
Toom and Cook's, transposed as Winograd did: filter and signal are evaluated at as many points, multiplied
point by point, and interpolated. Points are chosen, and rows scaled by powers of two, so that float32 loses
little: see `_MAGNITUDES`.

Many taps need many points, which lose many bits. So groups of taps are filtered in turn: if the inner
filtering takes m taps and yields m results, the next group of taps sees the same samples m results later.
Transformed rows are then the samples, and transformed groups the taps, of an outer filtering. F(2, 2) of
F(4, 4) has 21 products for 8 results of 8 taps and loses little more than F(4, 4) does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

import numpy as np

# Magnitudes of the finite points, by the number of such points. A magnitude stands for a point and its
# opposite; an odd number has zero as well; the last point of a filtering is infinity. These sixteenths (few
# bits, so that matrices are nearly exact) have the least `Transforms.loss`.
_MAGNITUDES = {
    1: (),
    2: ("5/8",),
    3: ("1",),
    4: ("3/8", "5/4"),
    5: ("5/8", "3/2"),
    6: ("1/4", "7/8", "7/4"),
    7: ("1/2", "1", "2"),
    8: ("1/4", "11/16", "9/8", "9/4"),
    9: ("7/16", "13/16", "5/4", "9/4"),
    10: ("3/16", "9/16", "7/8", "11/8", "11/4"),
    11: ("3/8", "11/16", "1", "23/16", "45/16"),
    12: ("3/16", "1/2", "13/16", "17/16", "25/16", "3"),
    13: ("5/16", "5/8", "7/8", "9/8", "27/16", "51/16"),
}

MOST_POINTS = max(_MAGNITUDES) + 1


@dataclass(frozen=True)
class Filtering:
    """Size of a minimal filtering: results and taps of a tile. F(1, 1) is plain convolution.

    Attributes:
        outputs: Results of a tile.
        taps: Taps that a tile takes at a time.
        within: Inner filtering of the groups of taps that an outer one filters, or None.
    """

    outputs: int
    taps: int
    within: Filtering | None = None

    @property
    def samples(self) -> int:
        """Samples of the signal that a tile reads."""
        return self.outputs + self.taps - 1

    @property
    def points(self) -> int:
        """Products per tile."""
        # More points save more products and lose more bits.
        return self.samples if self.within is None else self.inner.points * self.outer.points

    @property
    def inner(self) -> Filtering:
        """Innermost filtering, which reads samples and taps."""
        return self if self.within is None else self.within

    @property
    def outer(self) -> Filtering:
        """Filtering of the inner one's rows and groups of taps: F(1, 1) if there is none."""
        if self.within is None:
            return DIRECT
        return Filtering(self.outputs // self.within.outputs, self.taps // self.within.taps)

    def of(self, inner: Filtering) -> Filtering:
        """Compose this filtering with `inner`.

        Args:
            inner: Filtering of each group of taps; this one filters its rows and groups.

        Returns:
            The nested filtering.

        Raises:
            ValueError: `inner` yields fewer or more results than it takes taps.
        """
        if inner.outputs != inner.taps:
            raise ValueError(f"{inner} cannot be nested: its results and its taps differ in number")
        return Filtering(self.outputs * inner.outputs, self.taps * inner.taps, inner)

    def __str__(self) -> str:
        if self.within is None:
            return f"F({self.outputs}, {self.taps})"
        return f"{self.outer} of {self.within}"


DIRECT = Filtering(1, 1)


@dataclass(frozen=True)
class Transforms:
    """Matrices of a filtering: results = output @ ((weight @ taps) * (signal @ samples)).

    Rows of `signal` and columns of `output` that belong to opposite points differ only in the sign of every
    other entry, so that their `halves` have half as many nonzero entries.

    Attributes:
        output: float64 (outputs, points).
        weight: float64 (points, taps).
        signal: float64 (points, samples).
        opposites: Every point once, paired with its opposite if it has one. Empty for nested filterings,
            whose inner and outer filtering have their own.
    """

    output: np.ndarray
    weight: np.ndarray
    signal: np.ndarray
    opposites: tuple[tuple[int, ...], ...]

    @property
    def loss(self) -> float:
        """Rounding error of a result relative to plain convolution: root mean square, for noise."""
        # Counts the rounding of taps, of samples and of products.
        weights, signals = (np.linalg.norm(matrix, axis=1) for matrix in (self.weight, self.signal))
        errors = np.linalg.norm(self.output * weights * signals, axis=1)
        return float(np.sqrt(np.mean(errors**2) / self.weight.shape[1]))

    def halves(self, rows: np.ndarray) -> np.ndarray:
        """Replace the rows of opposite points by half their sum and half their difference."""
        halved = rows.copy()
        for first, second in (pair for pair in self.opposites if len(pair) == 2):
            halved[first] = (rows[first] + rows[second]) / 2
            halved[second] = (rows[first] - rows[second]) / 2
        return halved


@cache
def transforms(filtering: Filtering) -> Transforms:
    """Compute the matrices of a filtering.

    Raises:
        ValueError: The filtering needs more than `MOST_POINTS` points.
    """
    if filtering.within is not None:
        return _compose(filtering)
    m, r, n = filtering.outputs, filtering.taps, filtering.points
    if n == 1:
        identity = np.ones((1, 1))
        return Transforms(identity, identity, identity, ((0,),))
    if n > MOST_POINTS:
        raise ValueError(f"F({m}, {r}) needs {n} points, the table has at most {MOST_POINTS}")
    magnitudes = [Fraction(magnitude) for magnitude in _MAGNITUDES[n - 1]]
    zeros = (n - 1) % 2
    points = [Fraction(0)] * zeros + [sign * a for a in magnitudes for sign in (1, -1)]
    pairs = [(first, first + 1) for first in range(zeros, n - 1, 2)]
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
    opposites = (*([(0,)] * zeros), *pairs, (n - 1,))
    return Transforms(
        *_balance(*(np.array(matrix, np.float64) for matrix in (output, weight, signal))), opposites
    )


def _compose(filtering: Filtering) -> Transforms:
    """Compute the matrices of a nested filtering."""
    # Each point of the outer filtering has all points of the inner one.
    inner, outer = transforms(filtering.inner), transforms(filtering.outer)
    samples, stride = filtering.inner.samples, filtering.inner.outputs
    signal = np.zeros((filtering.points, filtering.samples))
    for row, coefficients in enumerate(outer.signal.T):
        part = slice(row * stride, row * stride + samples)
        signal[:, part] += np.kron(coefficients[:, None], inner.signal)
    return Transforms(np.kron(outer.output, inner.output), np.kron(outer.weight, inner.weight), signal, ())


def _polynomial(roots: Sequence[Fraction]) -> list[Fraction]:
    """Expand the product of (x - root) to coefficients, lowest power first."""
    result = [Fraction(1)]
    for root in roots:
        shifted = [Fraction(0), *result]
        result = [s - root * c for s, c in zip(shifted, [*result, Fraction(0)], strict=True)]
    return result


def _balance(
    output: np.ndarray, weight: np.ndarray, signal: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Scale the transforms to about unit gain at every point."""
    # The weights, which are transformed in float64, absorb the scales.

    def power(vectors: np.ndarray) -> np.ndarray:
        """Return for each row the power of two nearest to the inverse of its norm."""
        return 2.0 ** -np.round(np.log2(np.linalg.norm(vectors, axis=1)))

    by_signal, by_output = power(signal), power(output.T)
    weight = weight / (by_signal * by_output)[:, None]
    return output * by_output, weight, signal * by_signal[:, None]
