"""What the threads of a workgroup have, combined into one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tvm import tirx

from kokoro_tvm.ops.base.expressions import ceildiv, logical_and, minimum
from kokoro_tvm.ops.gpu.kernel import GpuKernel

__all__ = ["ChannelReduction", "reduce_workgroup", "sum_pairwise"]

_AT_ONCE = 4  # threads' values that a thread combines between two barriers

Combine = Callable[[Any, Any], Sequence[Any]]


def reduce_workgroup(
    k: GpuKernel,
    thread: Any,
    threads: int,
    values: Sequence[Any],
    combine: Combine,
    remaining: int = 1,
) -> list[Any]:
    """Every thread's values (float32) combined with those of all threads whose number is the same modulo
    `remaining`; threads of the same remainder get the same bits.

    threads, remaining: powers of two; combine: of two threads' values, in any order. Every thread takes part,
    those whose result nobody needs as well, so that nothing stands in a condition.
    """
    places = [k.shared(threads) for _ in values]
    found = list(values)
    count = threads
    while count > remaining:
        if count < threads:
            k.barrier()
        for place, value in zip(places, found, strict=True):
            k.store(place, value, thread)
        k.barrier()
        group = min(_AT_ONCE, count // remaining)
        count //= group
        first = k.let(tirx.truncmod(thread, count))
        others = [[place[first + i * count] for place in places] for i in range(group)]

        def combined(one: Any, other: Any) -> list[Any]:
            return [k.let(value) for value in combine(one, other)]

        found = [k.let(value) for value in _pairwise(others, combined)]
    return found


def sum_pairwise(values: Sequence[Any]) -> Any:
    """Their sum, pair by pair, which costs the fewest bits."""
    return _pairwise(values, lambda one, other: one + other)


def _pairwise(values: Sequence[Any], combine: Callable[[Any, Any], Any]) -> Any:
    half = len(values) // 2
    if not half:
        return values[0]
    return combine(_pairwise(values[:half], combine), _pairwise(values[half:], combine))


@dataclass(frozen=True)
class ChannelReduction:
    """A thread's place in a workgroup of rows of neighbouring channels, whose threads add up what the rows
    of a channel found.

    row: among `rows`; lane: among `lanes`, each a channel; channel: one that exists, the last one again where
    `exists` is false; first: whether the thread writes the results of its channel."""

    k: GpuKernel
    rows: int
    lanes: int
    row: Any
    lane: Any
    channel: Any
    exists: Any

    @property
    def first(self) -> Any:
        return logical_and(self.row == 0, self.exists)

    @classmethod
    def of(
        cls, k: GpuKernel, rows: int, lanes: int, thread: Any, group: Any, channels: int
    ) -> ChannelReduction:
        """group: the number of the workgroup among those that share the channels out."""
        row, lane = k.let(thread // lanes), k.let(thread % lanes)
        wanted = k.let(group * lanes + lane)
        return cls(k, rows, lanes, row, lane, k.let(minimum(wanted, channels - 1)), wanted < channels)

    @staticmethod
    def groups(channels: int, lanes: int) -> int:
        """How many workgroups share the channels out."""
        return int(ceildiv(channels, lanes))

    def totals(self, *values: Any) -> list[Any]:
        """The sums over the rows of each channel, known to all of its threads. Every thread of the workgroup
        must come here."""

        def added(one: Any, other: Any) -> list[Any]:
            return [a + b for a, b in zip(one, other, strict=True)]

        own = self.row * self.lanes + self.lane
        return reduce_workgroup(self.k, own, self.rows * self.lanes, values, added, self.lanes)

    def over(self, extent: Any, body: Callable[[Any], None]) -> None:
        """body(i) for every i below the extent, shared out among the rows; without barriers."""
        with self.k.loop(ceildiv(self.k.index(extent), self.rows)) as turn:
            at = self.k.let(turn * self.rows + self.row)
            with self.k.when(at < extent):
                body(at)
