"""Minimal filtering (Winograd convolution) in one dimension.

F(m, r) computes m results of a filter of r taps from m + r - 1 products instead of m * r. The construction is
Toom and Cook's, transposed as Winograd did: filter and signal are evaluated at as many points, multiplied
point by point, and interpolated. Points are chosen, and rows scaled by powers of two, so that float32 loses
little: see `_MAGNITUDES`.

Many taps need many points, which lose many bits. So groups of taps are filtered in turn: if the inner
filtering takes m taps and yields m results, the next group of taps sees the same samples m results later.
Transformed rows are then the samples, and transformed groups the taps, of an outer filtering. F(2, 2) of
F(4, 4) has 21 products for 8 results of 8 taps and loses little more than F(4, 4) does.

Where rounding matters more than the cost of transforms, most points are complex and of magnitude one, so that no
power of a point is large. A point and its conjugate take three real products, in directions of the complex
plane 60 degrees apart, instead of the two that two real points take. F(14, 11) has 32 products on the circle and
loses less than F(2, 2) does of F(4, 4).
"""

from __future__ import annotations

import cmath
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any

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

# Magnitudes of the real points beside those on the circle, for even and for odd halves of the samples.
_BESIDE_CIRCLE = (5 / 8, 1.0, 8 / 5), (4 / 5, 5 / 4)
_DIRECTIONS = (0.0, math.pi / 3, -math.pi / 3)


@dataclass(frozen=True)
class Filtering:
    """Size of a minimal filtering: results and taps of a tile. F(1, 1) is plain convolution.

    Attributes:
        outputs: Results of a tile.
        taps: Taps that a tile takes at a time.
        within: Inner filtering of the groups of taps that an outer one filters, or None.
        circle: Whether all points but six or eight are complex, of magnitude one. Samples are then even.
    """

    outputs: int
    taps: int
    within: Filtering | None = None
    circle: bool = False

    @property
    def samples(self) -> int:
        """Samples of the signal that a tile reads."""
        return self.outputs + self.taps - 1

    @property
    def points(self) -> int:
        """Products per tile."""
        # More points save more products and lose more bits.
        if self.within is not None:
            return self.inner.points * self.outer.points
        return self.samples + 2 * self.fours if self.circle else self.samples

    @property
    def fours(self) -> int:
        """Complex points with their opposites and conjugates, which have six products in place of four."""
        real = 2 + 2 * len(_BESIDE_CIRCLE[self.samples // 2 % 2])
        return (self.samples - real) // 4 if self.circle else 0

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
            return f"F({self.outputs}, {self.taps})" + (" on the circle" if self.circle else "")
        return f"{self.outer} of {self.within}"


DIRECT = Filtering(1, 1)


@dataclass(frozen=True)
class Transforms:
    """Matrices of a filtering: results = output @ ((weight @ taps) * (signal @ samples)).

    Rows of `signal` and columns of `output` that belong to opposite points differ only in the sign of every
    other entry, so that their `halves` have half as many nonzero entries. Of the three directions of a complex
    point, the third row of `signal` is the sum of the other two, the third column of `output` their difference.

    Attributes:
        output: float64 (outputs, points).
        weight: float64 (points, taps).
        signal: float64 (points, samples).
        opposites: Every point once, paired with its opposite if it has one. Empty for nested filterings,
            whose inner and outer filtering have their own.
        directions: The points that are the three directions of a complex one.
    """

    output: np.ndarray
    weight: np.ndarray
    signal: np.ndarray
    opposites: tuple[tuple[int, ...], ...]
    directions: tuple[tuple[int, int, int], ...] = ()

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
        ValueError: The filtering needs more than `MOST_POINTS` points, or an odd number of samples on the
            circle.
    """
    if filtering.within is not None:
        return _compose(filtering)
    if filtering.circle:
        return _transform_on_circle(filtering)
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


def _transform_on_circle(filtering: Filtering) -> Transforms:
    """Compute the matrices of a filtering on the circle.

    Raises:
        ValueError: The number of samples is odd or less than 6.
    """
    m, r, n = filtering.outputs, filtering.taps, filtering.samples
    if n < 6 or n % 2:
        raise ValueError(f"{filtering} has {n} samples: expected 6, 8, 10 and so on")
    # Evenly spaced, but for those nearest to the real axis, which the real points replace.
    step = math.pi / (2 * filtering.fours + 2)
    upper = [cmath.rect(1, math.pi / 2 - (i + 0.5) * step) for i in range(filtering.fours)]
    real = _BESIDE_CIRCLE[n // 2 % 2]
    points = [0, *(s * a for a in (*real, *upper, *(z.conjugate() for z in upper)) for s in (1, -1))]
    output, weight, signal = [], [], []

    def powers(point: complex, count: int, factor: complex = 1) -> np.ndarray:
        return np.array([(factor * point**i).real for i in range(count)])

    def basis(point: complex) -> np.ndarray:
        """Return the coefficients of the polynomial that is one at a point and zero at all others."""
        others = [b for b in points if b != point]
        return np.array([*_polynomial(others), 0]) / math.prod(point - b for b in others)

    def add(*rows: np.ndarray, parity: int | None = None) -> None:
        """Add a point; a point that is its own opposite has a signal of even or odd coefficients only."""
        for matrix, row in zip((output, weight, signal), rows, strict=True):
            matrix.append(row)
        if parity is not None:
            signal[-1][1 - parity :: 2] = 0

    def add_opposites(points_rows: Sequence[tuple[np.ndarray, ...]]) -> None:
        """Add points, then their opposites."""
        for rows in points_rows:
            add(*rows)
        for rows in points_rows:
            add(*(row * (-1.0) ** np.arange(row.size) for row in rows))

    add(powers(0, m), powers(0, r), basis(0).real, parity=0)
    for a in real:
        add_opposites([(powers(a, m), powers(a, r), basis(a).real)])
    for z in upper:
        # The product at z is 4/3 of the sum over the directions d of exp(2id) times the product of real parts
        # at z exp(-id). The conjugate has the conjugate product. Signs make the third signal a sum.
        add_opposites(
            [
                (powers(z, m, turn), sign * powers(z, r, turn), sign * 8 / 3 * (basis(z) / turn**2).real)
                for sign, turn in zip((1, 1, -1), (cmath.rect(1, -d) for d in _DIRECTIONS), strict=True)
            ]
        )
    last = [np.array([*[0.0] * (count - 1), 1.0]) for count in (m, r)]
    add(*last, np.array(_polynomial(points)).real, parity=1)
    after_real = 1 + 2 * len(real)
    pairs = [(i, i + 1) for i in range(1, after_real, 2)]
    fours = range(after_real, len(signal) - 1, 6)
    pairs += [(first + i, first + 3 + i) for first in fours for i in range(3)]
    directions = tuple((first + i, first + i + 1, first + i + 2) for first in fours for i in (0, 3))
    opposites = ((0,), *pairs, (len(signal) - 1,))
    return Transforms(np.array(output).T, np.array(weight), np.array(signal), opposites, directions)


def _polynomial(roots: Sequence[Any]) -> list[Any]:
    """Expand the product of (x - root) to coefficients, lowest power first."""
    result: list[Any] = [Fraction(1)]
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
