"""Weights of a convolution: read from memory, or transformed in the cache from the taps in memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kokoro_tvm.kernels.base.expressions import Cast, const, maximum, minimum
from kokoro_tvm.kernels.base.math import dtype
from kokoro_tvm.kernels.cpu.conv_plan import ConvPlan
from kokoro_tvm.kernels.cpu.kernel import CpuKernel

Expr = Any


class ConvWeights:
    """Weights of a column block at a point, for one task.

    Args of the constructor: weight, packed by `conv_plan.packing`; matrix, a table (points, taps) that
    transforms taps if the kernel does so, else None.
    """

    def __init__(self, k: CpuKernel, plan: ConvPlan, weight: Any, matrix: Any | None) -> None:
        self._k, self._plan, self._weight, self._matrix = k, plan, weight, matrix
        self._transformed = k.scratch(plan.terms * plan.columns, plan.operand.dtype) if matrix is not None else None

    def prepare(self, column_block: Expr, point: Expr, base: Expr) -> None:
        """Transform the taps of a column block, from tap `base` on, if the kernel does so."""
        k, plan, lanes, operand = self._k, self._plan, self._plan.features.lanes, self._plan.operand
        if self._matrix is None:
            return
        first = point * plan.filtering.taps + base
        coefficients = [k.let(k.broadcast(self._matrix[first + tap], lanes)) for tap in range(plan.taps)]
        with k.loop(plan.terms) as c:
            for v in range(plan.vectors):
                taps = [operand.unpack(self._load(column_block, 0, tap, c, v)) for tap in range(plan.taps)]
                totals = [coefficients[0] * value for value in taps[0]]
                for coefficient, values in zip(coefficients[1:], taps[1:], strict=True):
                    totals = [t + coefficient * value for t, value in zip(totals, values, strict=True)]
                packed = operand.pack_vectors(tuple(totals))
                k.store(self._transformed, packed, c * plan.columns + v * lanes, lanes=lanes)

    def of(self, column_block: Expr, point: Expr, tile: Expr) -> Callable[[Expr, Expr], list[Expr]]:
        """Return the function (group, channel) -> vectors of weights, which prefetches those that follow."""
        # The first tile fetches one vector of every channel, the others the second. If taps are transformed
        # here, the last points fetch one tap each.
        k, plan, lanes = self._k, self._plan, self._plan.features.lanes
        ahead = k.let(minimum(tile, const(plan.vectors - 1, "int64")) * lanes)

        def load_stored(g: Expr, c: Expr) -> list[Expr]:
            """Load a channel's vectors as packed; prefetch those of the next point."""
            k.prefetch(self._weight, column_block, point + 1, g, c, ahead, level=2)
            return [k.let(self._load(column_block, point, g, c, v)) for v in range(plan.vectors)]

        if self._transformed is None:
            return load_stored
        tap = k.let(maximum(point - (plan.filtering.points - plan.taps), const(0, "int64")))

        def load_from_scratch(g: Expr, c: Expr) -> list[Expr]:
            """Load a channel's vectors from `prepare`'s scratch; prefetch taps of the next column block."""
            k.prefetch(self._weight, column_block + 1, 0, tap, c, ahead, level=2)
            return [
                k.let(k.load(self._transformed, c * plan.columns + v * lanes, lanes=lanes))
                for v in range(plan.vectors)
            ]

        return load_from_scratch

    def _load(self, *place: Expr) -> Expr:
        """Load a vector of weights from memory, by column block, point, group, channel and its number."""
        *at, v = place
        lanes, operand = self._plan.features.lanes, self._plan.operand
        vector = self._k.load(self._weight, *at, v * lanes, lanes=lanes)
        return vector if operand.stored == operand.dtype else Cast(dtype(lanes), vector)
