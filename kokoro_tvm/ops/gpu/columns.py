"""A workgroup as rows of neighbouring channels, whose threads add up what the rows of a channel found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from kokoro_tvm.ops.base.expressions import ceildiv, logical_and, minimum
from kokoro_tvm.ops.gpu.fold import fold
from kokoro_tvm.ops.gpu.kernel import GpuKernel

__all__ = ["Columns"]


@dataclass(frozen=True)
class Columns:
    """A thread's place. row: among `rows`; lane: among `lanes`, each a channel; channel: one that exists, the
    last one again where `exists` is false; first: whether the thread writes the results of its channel."""

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
    def of(cls, k: GpuKernel, rows: int, lanes: int, thread: Any, group: Any, channels: int) -> Columns:
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
        return fold(self.k, own, self.rows * self.lanes, values, added, self.lanes)

    def over(self, extent: Any, body: Callable[[Any], None]) -> None:
        """body(i) for every i below the extent, shared out among the rows; without barriers."""
        with self.k.loop(ceildiv(self.k.index(extent), self.rows)) as turn:
            at = self.k.let(turn * self.rows + self.row)
            with self.k.when(at < extent):
                body(at)
