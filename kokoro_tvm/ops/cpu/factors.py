"""The weights that a convolution multiplies by: given, or transformed in the cache from the taps given."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kokoro_tvm.ops.base.expressions import Cast, const, maximum, minimum
from kokoro_tvm.ops.base.math import dtype
from kokoro_tvm.ops.cpu.conv_plan import ConvPlan
from kokoro_tvm.ops.cpu.kernel import CpuKernel

__all__ = ["ConvWeights"]

Expr = Any


class ConvWeights:
    """The weights of a column block at a point, of a task.

    weight: see `conv_plan.packing`; matrix: what transforms taps, a table of (points, taps), where the
    plan has the kernel transform them, else None.
    """

    def __init__(self, k: CpuKernel, plan: ConvPlan, weight: Any, matrix: Any | None) -> None:
        self._k, self._make_plan, self._weight, self._matrix = k, plan, weight, matrix
        self._made = k.scratch(plan.terms * plan.columns) if matrix is not None else None

    def prepare(self, column_block: Expr, point: Expr, base: Expr) -> None:
        """Transforms the taps, where they are given as such, the first of them the `base`-th of the filter:
        made[channel][column]."""
        k, plan, lanes = self._k, self._make_plan, self._make_plan.features.lanes
        if self._matrix is None:
            return
        first = point * plan.filtering.taps + base
        coefficients = [k.let(k.broadcast(self._matrix[first + tap], lanes)) for tap in range(plan.taps)]
        with k.loop(plan.terms) as c:
            for v in range(plan.vectors):
                taps = [self._given(column_block, 0, tap, c, v) for tap in range(plan.taps)]
                total = coefficients[0] * taps[0]
                for coefficient, value in zip(coefficients[1:], taps[1:], strict=True):
                    total = total + coefficient * value
                k.store(self._made, total, c * plan.columns + v * lanes, lanes=lanes)

    def of(self, column_block: Expr, point: Expr, tile: Expr) -> Callable[[Expr, Expr], list[Expr]]:
        """(group, channel) -> its vectors; the cache fetches weights that follow meanwhile.

        The first tile fetches one vector of every channel, others the second. Of taps that are transformed
        here, the last points fetch one each.
        """
        k, plan, lanes = self._k, self._make_plan, self._make_plan.features.lanes
        ahead = k.let(minimum(tile, const(plan.vectors - 1, "int64")) * lanes)

        def given(g: Expr, c: Expr) -> list[Expr]:
            k.prefetch(self._weight, column_block, point + 1, g, c, ahead, level=2)
            return [k.let(self._given(column_block, point, g, c, v)) for v in range(plan.vectors)]

        if self._made is None:
            return given
        tap = k.let(maximum(point - (plan.filtering.points - plan.taps), const(0, "int64")))

        def made(g: Expr, c: Expr) -> list[Expr]:
            k.prefetch(self._weight, column_block + 1, 0, tap, c, ahead, level=2)
            return [
                k.let(k.load(self._made, c * plan.columns + v * lanes, lanes=lanes))
                for v in range(plan.vectors)
            ]

        return made

    def _given(self, *place: Expr) -> Expr:
        """A vector of weights as memory holds them, by column block, point, group, channel and its number."""
        *at, v = place
        lanes, operand = self._make_plan.features.lanes, self._make_plan.operand
        vector = self._k.load(self._weight, *at, v * lanes, lanes=lanes)
        return vector if operand.stored == operand.dtype else Cast(dtype(lanes), vector)
