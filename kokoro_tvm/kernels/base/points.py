"""Code of minimal filtering's transforms: signal to points, products at points to results.

Points come in pairs of opposites. Their halves are computed once, then added and subtracted. Of the three
directions of a complex point, two are computed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from kokoro_tvm.kernels.base.filtering import Transforms
from kokoro_tvm.kernels.base.kernel import BaseKernel

Expr = Any


def _combine(k: BaseKernel, coefficients: Sequence[float], values: Sequence[Expr], lanes: int) -> Expr:
    """Return a linear combination of vectors; coefficients of zero and one cost nothing."""
    result = None
    for coefficient, value in zip(np.asarray(coefficients, np.float64), values, strict=True):
        if coefficient == 0.0:
            continue
        if result is None:
            result = value if coefficient == 1.0 else value * k.real(float(coefficient), lanes)
        elif coefficient in (1.0, -1.0):
            result = result + value if coefficient > 0 else result - value
        else:
            result = result + value * k.real(float(coefficient), lanes)
    return result


def forward(k: BaseKernel, matrices: Transforms, samples: Sequence[Expr], lanes: int) -> list[Expr]:
    """Transform samples of a signal to its values at every point."""
    values = {p: value for p, (value,) in forward_together(k, matrices, [samples], lanes)}
    return [values[p] for p in sorted(values)]


def forward_together(
    k: BaseKernel, matrices: Transforms, signals: Sequence[Sequence[Expr]], lanes: int
) -> Iterator[tuple[int, list[Expr]]]:
    """Transform several signals side by side; yield each point with their values there."""
    halves = matrices.halves(matrices.signal)
    sums = {third: (first, second) for first, second, third in matrices.directions}
    combined: dict[int, list[Expr]] = {}
    for pair in matrices.opposites:
        for p in pair:
            if p in sums:
                first, second = (combined[term] for term in sums[p])
                combined[p] = [k.let(a + b) for a, b in zip(first, second, strict=True)]
            else:
                combined[p] = [k.let(_combine(k, halves[p], samples, lanes)) for samples in signals]
        by_signal = [_butterfly(k, list(each)) for each in zip(*(combined[p] for p in pair), strict=True)]
        for p, values in zip(pair, zip(*by_signal, strict=True), strict=True):
            yield p, list(values)


def inverse(k: BaseKernel, matrices: Transforms, products: Sequence[Expr], lanes: int) -> list[Expr]:
    """Transform products at every point to results."""
    values = list(products)
    for pair in matrices.opposites:
        for p, value in zip(pair, _butterfly(k, [products[p] for p in pair]), strict=True):
            values[p] = value
    rows = matrices.halves(matrices.output.T).T
    for first, second, third in matrices.directions:
        values[first] = k.let(values[first] + values[third])
        values[second] = k.let(values[second] - values[third])
        rows[:, third] = 0
    return [k.let(_combine(k, coefficients, values, lanes)) for coefficients in rows]


def _butterfly(k: BaseKernel, values: Sequence[Expr]) -> list[Expr]:
    """Return sum and difference of two values; a single value as it is."""
    if len(values) == 1:
        return list(values)
    first, second = values
    return [k.let(first + second), k.let(first - second)]
