"""Moments of the results of a convolution's tile, see `kernels.moments`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from kokoro_tvm.kernels.base.expressions import Cast, const, select
from kokoro_tvm.kernels.gpu.fold import sum_pairwise
from kokoro_tvm.kernels.gpu.kernel import GpuKernel


@dataclass(frozen=True)
class TileMoments:
    """Moments of a workgroup's tile of results (steps x outputs), which its threads hold in registers.

    Attributes:
        k: The kernel.
        moments: (slots, 4, outputs of all tiles).
        slot: Slot of the tile.
        first_output: First output of the tile.
        row: Row of the thread; it has no results if this is none of the `rows`.
        rows: Rows of threads that have results.
        places: Outputs, within the tile, that a thread has results of, at i * len(places) + j of its
            registers.
        outputs: Outputs of the tile.
    """

    k: GpuKernel
    moments: Any
    slot: Any
    first_output: Any
    row: Any
    rows: int
    places: Sequence[Any]
    outputs: int

    def emit(self, results: Any, exists_at: Sequence[Any], count: Any, parts: Any, others: Any) -> None:
        """Write the moments of results in registers.

        Every thread must call it. As on CPUs, two passes over the results make the mean the pivot.

        Args:
            results: Registers of the results.
            exists_at: For each of the thread's steps, whether it has results.
            count: Steps of the tile.
            parts: Shared memory, an element for each row and output, that nobody reads after the next
                barrier.
            others: Shared memory of the same size that nobody reads now.
        """
        k, zero = self.k, const(0.0, "float32")
        count = k.let(Cast("float32", count), "count")
        places, outputs = self.places, self.outputs

        def subtract(j: int, pivot: Any) -> list[Any]:
            """Return the differences of an output's results from a pivot."""
            values = [results[i * len(places) + j] for i in range(len(exists_at))]
            return [k.let(select(t, v - pivot, zero)) for t, v in zip(exists_at, values, strict=True)]

        def total(buffer: Any, j: int) -> Any:
            """Return the sum over all rows."""
            return k.let(sum_pairwise([buffer[row * outputs + places[j]] for row in range(self.rows)]))

        def share(buffer: Any, j: int, value: Any) -> None:
            """Write a thread's value for output `j` to shared memory."""
            with k.when(self.row < self.rows):
                k.store(buffer, value, self.row * outputs + places[j])

        with k.when(self.row == 0):
            for j, place in enumerate(places):
                k.store(others, results[j], place)
        k.barrier()
        starts = [k.let(others[place]) for place in places]
        for j, start in enumerate(starts):
            share(parts, j, sum_pairwise(subtract(j, start)))
        k.barrier()
        means = [k.let(start + total(parts, j) / count) for j, start in enumerate(starts)]
        k.barrier()
        for j, mean in enumerate(means):
            differences = subtract(j, mean)
            share(parts, j, sum_pairwise(differences))
            share(others, j, sum_pairwise([value * value for value in differences]))
        k.barrier()
        for j, mean in enumerate(means):
            with k.when(self.row == j):
                for i, value in enumerate((mean, total(parts, j), total(others, j), count)):
                    k.store(self.moments, value, self.slot, i, self.first_output + places[j])

    def clear(self) -> None:
        """Mark the tile's slot as empty."""
        self._clear(self.slot)

    def clear_remaining(self, slots_in_use: Any, first: Any) -> None:
        """Mark the slots after the used ones as empty, in the first tile of its outputs."""
        with self.k.when(first), self.k.loop(self.moments.shape[0] - slots_in_use) as i:
            self._clear(slots_in_use + i)

    def _clear(self, slot: Any) -> None:
        """Set the count of a slot to 0, which marks it as empty, for all outputs of the tile."""
        for j, place in enumerate(self.places):
            with self.k.when(self.row == j):
                self.k.store(self.moments, const(0.0, "float32"), slot, 3, self.first_output + place)
