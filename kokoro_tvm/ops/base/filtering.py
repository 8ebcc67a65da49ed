"""Minimal filtering in one dimension: `outputs` results of a filter of `taps` taps from `outputs + taps - 1`
products instead of `outputs * taps`.

Toom and Cook's construction, turned round as Winograd did: filter and signal are evaluated at as many points,
multiplied point by point, and interpolated. Points are chosen, and rows scaled by powers of two, so that
float32 loses little: see `_MAGNITUDES`.

Many taps lose much, for they need many points. So groups of taps are filtered in their turn: where a
filtering of m taps yields m results, the next group of taps sees what the first one sees m results later.
Transformed rows are then the samples, and transformed groups the taps, of an outer filtering. F(2, 2) of
F(4, 4) has 21 products for 8 results of 8 taps and loses little more than F(4, 4) does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

import numpy as np

__all__ = ["DIRECT", "MOST_POINTS", "Filtering", "Transforms", "transforms"]


# Magnitudes of the finite points, by how many such points there are: each stands for itself and its opposite,
# and zero is one more where the number is odd; the last point is infinity. Of all sixteenths (few bits, so
# that matrices are nearly exact) those that lose least, see `Transforms.loss`.
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
    """How many results a tile yields, and how many taps it takes at a time; 1 and 1 is plain convolution.

    within: the filtering of the groups of taps that an outer one filters, where there are two.
    """

    outputs: int
    taps: int
    within: Filtering | None = None

    @property
    def samples(self) -> int:
        """Of the signal, that a tile's results see."""
        return self.outputs + self.taps - 1

    @property
    def points(self) -> int:
        """Products per tile; more points save more products and lose more bits."""
        return self.samples if self.within is None else self.inner.points * self.outer.points

    @property
    def inner(self) -> Filtering:
        """That of samples and taps."""
        return self if self.within is None else self.within

    @property
    def outer(self) -> Filtering:
        """That of the inner one's rows and groups of taps: plain convolution of one where there is none."""
        if self.within is None:
            return DIRECT
        return Filtering(self.outputs // self.within.outputs, self.taps // self.within.taps)

    def of(self, inner: Filtering) -> Filtering:
        """This filtering of the groups of taps, and of the rows, of another. Raises ValueError where a group
        does not see what the one before sees whole rows later."""
        if inner.outputs != inner.taps:
            raise ValueError(f"{inner} yields other than as many results as it takes taps")
        return Filtering(self.outputs * inner.outputs, self.taps * inner.taps, inner)

    def __str__(self) -> str:
        if self.within is None:
            return f"F({self.outputs}, {self.taps})"
        return f"{self.outer} of {self.within}"


DIRECT = Filtering(1, 1)


@dataclass(frozen=True)
class Transforms:
    """float64 matrices with: results = output @ ((weight @ taps) * (signal @ samples)).

    output (outputs, points), weight (points, taps), signal (points, samples). opposites: every point once,
    with its opposite where it has one; empty for a filtering of another, both of which have theirs. Rows of
    `signal` and columns of `output` that belong to opposites differ in the sign of every other entry alone,
    so that `halves` of them have only half as many.
    """

    output: np.ndarray
    weight: np.ndarray
    signal: np.ndarray
    opposites: tuple[tuple[int, ...], ...]

    @property
    def loss(self) -> float:
        """What rounding taps, samples and products adds to a result, relative to what it adds to that of
        plain convolution: root mean square over the results, for noise."""
        weights, signals = (np.linalg.norm(matrix, axis=1) for matrix in (self.weight, self.signal))
        errors = np.linalg.norm(self.output * weights * signals, axis=1)
        return float(np.sqrt(np.mean(errors**2) / self.weight.shape[1]))

    def halves(self, rows: np.ndarray) -> np.ndarray:
        """Half the sum and half the difference of the rows of opposites in place of both."""
        halved = rows.copy()
        for first, second in (pair for pair in self.opposites if len(pair) == 2):
            halved[first] = (rows[first] + rows[second]) / 2
            halved[second] = (rows[first] - rows[second]) / 2
        return halved


@cache
def transforms(filtering: Filtering) -> Transforms:
    """The matrices of F(outputs, taps). Raises ValueError where there are not enough points."""
    if filtering.within is not None:
        return _compose(filtering)
    m, r, n = filtering.outputs, filtering.taps, filtering.points
    if n == 1:
        one = np.ones((1, 1))
        return Transforms(one, one, one, ((0,),))
    if n > MOST_POINTS:
        raise ValueError(f"F({m}, {r}) needs {n} points, at most {MOST_POINTS} are known")
    magnitudes = [Fraction(magnitude) for magnitude in _MAGNITUDES[n - 1]]
    alone = (n - 1) % 2  # zero
    points = [Fraction(0)] * alone + [sign * a for a in magnitudes for sign in (1, -1)]
    pairs = [(first, first + 1) for first in range(alone, n - 1, 2)]
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
    opposites = (*([(0,)] * alone), *pairs, (n - 1,))
    return Transforms(
        *_balance(*(np.array(matrix, np.float64) for matrix in (output, weight, signal))), opposites
    )


def _compose(filtering: Filtering) -> Transforms:
    """The matrices of one filtering of another: points of the outer one, each with those of the inner one."""
    inner, outer = transforms(filtering.inner), transforms(filtering.outer)
    samples, apart = filtering.inner.samples, filtering.inner.outputs
    signal = np.zeros((filtering.points, filtering.samples))
    for row, coefficients in enumerate(outer.signal.T):
        part = slice(row * apart, row * apart + samples)
        signal[:, part] += np.kron(coefficients[:, None], inner.signal)
    return Transforms(np.kron(outer.output, inner.output), np.kron(outer.weight, inner.weight), signal, ())


def _polynomial(roots: Sequence[Fraction]) -> list[Fraction]:
    """Coefficients of the product of (x - root), lowest power first."""
    result = [Fraction(1)]
    for root in roots:
        shifted = [Fraction(0), *result]
        result = [s - root * c for s, c in zip(shifted, [*result, Fraction(0)], strict=True)]
    return result


def _balance(
    output: np.ndarray, weight: np.ndarray, signal: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The same with transforms of about unit gain at every point; the weights, which are transformed in
    float64, take what that costs."""

    def power(vectors: np.ndarray) -> np.ndarray:
        return 2.0 ** -np.round(np.log2(np.linalg.norm(vectors, axis=1)))

    by_signal, by_output = power(signal), power(output.T)
    weight = weight / (by_signal * by_output)[:, None]
    return output * by_output, weight, signal * by_signal[:, None]
