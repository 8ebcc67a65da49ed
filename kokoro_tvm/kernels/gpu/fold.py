"""Reductions over the threads of a workgroup."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tvm import tirx

from kokoro_tvm.kernels.base.expressions import ceildiv, logical_and, minimum
from kokoro_tvm.kernels.gpu.kernel import GpuKernel

_FAN_IN = 4  # threads' values that a thread combines between two barriers

Combine = Callable[[Any, Any], Sequence[Any]]


def reduce_workgroup(
    k: GpuKernel,
    thread: Any,
    threads: int,
    values: Sequence[Any],
    combine: Combine,
    remaining: int = 1,
) -> list[Any]:
    """Combine every thread's values with those of all threads of the same number modulo `remaining`.

    Every thread must call it, so it stands in no condition. Threads of the same remainder get the same bits.

    Args:
        k: The kernel.
        thread: Number of the thread.
        threads: Threads of the workgroup, a power of two.
        values: float32 values of the thread.
        combine: Combines the values of two threads, in any order.
        remaining: How many results remain, a power of two.

    Returns:
        The combined values.
    """
    places = [k.shared(threads) for _ in values]
    results = list(values)
    count = threads
    while count > remaining:
        if count < threads:
            k.barrier()
        for place, value in zip(places, results, strict=True):
            k.store(place, value, thread)
        k.barrier()
        group = min(_FAN_IN, count // remaining)
        count //= group
        first = k.let(tirx.truncmod(thread, count))
        others = [[place[first + i * count] for place in places] for i in range(group)]

        def combine_bound(a: Any, b: Any) -> list[Any]:
            """Combine two threads' values and bind the results."""
            return [k.let(value) for value in combine(a, b)]

        results = [k.let(value) for value in _pairwise(others, combine_bound)]
    return results


def sum_pairwise(values: Sequence[Any]) -> Any:
    """Add values pair by pair, which loses the fewest bits."""
    return _pairwise(values, lambda a, b: a + b)


def _pairwise(values: Sequence[Any], combine: Callable[[Any, Any], Any]) -> Any:
    """Combine values pair by pair, in a balanced tree."""
    half = len(values) // 2
    if not half:
        return values[0]
    return combine(_pairwise(values[:half], combine), _pairwise(values[half:], combine))


@dataclass(frozen=True)
class ChannelReduction:
    """Place of a thread in a workgroup of rows of neighbouring channels, and sums over the rows.

    Attributes:
        k: The kernel.
        rows: Rows of the workgroup.
        lanes: Channels of the workgroup.
        row: Row of the thread.
        lane: Channel of the thread within the workgroup.
        channel: Channel of the thread, the last one if `exists` is false.
        exists: Whether there is such a channel.
    """

    k: GpuKernel
    rows: int
    lanes: int
    row: Any
    lane: Any
    channel: Any
    exists: Any

    @property
    def first(self) -> Any:
        """Whether the thread writes the results of its channel."""
        return logical_and(self.row == 0, self.exists)

    @classmethod
    def of(
        cls, k: GpuKernel, rows: int, lanes: int, thread: Any, group: Any, channels: int
    ) -> ChannelReduction:
        """Place a thread; `group` numbers the workgroups that split the channels."""
        row, lane = k.let(thread // lanes), k.let(thread % lanes)
        channel = k.let(group * lanes + lane)
        return cls(k, rows, lanes, row, lane, k.let(minimum(channel, channels - 1)), channel < channels)

    @staticmethod
    def groups(channels: int, lanes: int) -> int:
        """Return how many workgroups split the channels."""
        return int(ceildiv(channels, lanes))

    def totals(self, *values: Any) -> list[Any]:
        """Sum values over the rows of each channel; every thread must call it."""

        def add(a: Any, b: Any) -> list[Any]:
            return [x + y for x, y in zip(a, b, strict=True)]

        own = self.row * self.lanes + self.lane
        return reduce_workgroup(self.k, own, self.rows * self.lanes, values, add, self.lanes)

    def over(self, extent: Any, body: Callable[[Any], None]) -> None:
        """Run body(i) for every i below the extent, split among the rows; `body` must have no barrier."""
        with self.k.loop(ceildiv(self.k.index(extent), self.rows)) as turn:
            at = self.k.let(turn * self.rows + self.row)
            with self.k.when(at < extent):
                body(at)
