"""What a tile of a convolution leaves for the statistics of its channels: see `ops.moments`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from kokoro_tvm.ops.base.expressions import Cast, const, select
from kokoro_tvm.ops.gpu.fold import sum_pairwise
from kokoro_tvm.ops.gpu.kernel import GpuKernel

__all__ = ["TileMoments"]


@dataclass(frozen=True)
class TileMoments:
    """A workgroup's tile of results (steps x outputs), as its threads have them.

    moments: (slots, 4, outputs of all tiles); slot: the tile's; first_output: its first; row: a thread's,
    which has no results where it is none of the rows; places: the outputs, of so many of the tile, that a
    thread has of some steps, at i * len(places) + j of its registers.
    """

    k: GpuKernel
    moments: Any
    slot: Any
    first_output: Any
    row: Any
    rows: int
    places: Sequence[Any]
    outputs: int

    def emit(self, results: Any, there: Sequence[Any], count: Any, parts: Any, others: Any) -> None:
        """Writes the moments of results in registers. there: which of its steps a thread has results of;
        count: of the tile's steps; parts, others: shared memory of an element for each row and output,
        others such as nobody reads now, parts such as nobody reads behind the next barrier.

        As on CPUs twice over the results, so that the pivot is the mean. All threads must come here.
        """
        k, zero = self.k, const(0.0, "float32")
        count = k.let(Cast("float32", count), "count")
        places, outputs = self.places, self.outputs

        def about(j: int, pivot: Any) -> list[Any]:
            """Differences of an output's results from a pivot."""
            values = [results[i * len(places) + j] for i in range(len(there))]
            return [k.let(select(t, v - pivot, zero)) for t, v in zip(there, values, strict=True)]

        def total(buffer: Any, j: int) -> Any:
            """The sum over all rows."""
            return k.let(sum_pairwise([buffer[row * outputs + places[j]] for row in range(self.rows)]))

        def put(buffer: Any, j: int, value: Any) -> None:
            with k.when(self.row < self.rows):
                k.store(buffer, value, self.row * outputs + places[j])

        with k.when(self.row == 0):
            for j, place in enumerate(places):
                k.store(others, results[j], place)
        k.barrier()
        starts = [k.let(others[place]) for place in places]
        for j, start in enumerate(starts):
            put(parts, j, sum_pairwise(about(j, start)))
        k.barrier()
        means = [k.let(start + total(parts, j) / count) for j, start in enumerate(starts)]
        k.barrier()
        for j, mean in enumerate(means):
            differences = about(j, mean)
            put(parts, j, sum_pairwise(differences))
            put(others, j, sum_pairwise([value * value for value in differences]))
        k.barrier()
        for j, mean in enumerate(means):
            with k.when(self.row == j):
                for i, value in enumerate((mean, total(parts, j), total(others, j), count)):
                    k.store(self.moments, value, self.slot, i, self.first_output + places[j])

    def clear(self) -> None:
        """Marks the tile's slot as empty."""
        self._clear(self.slot)

    def clear_remaining(self, used: Any, first: Any) -> None:
        """A tile that is the first of its outputs marks the slots behind the used ones as empty."""
        with self.k.when(first), self.k.loop(self.moments.shape[0] - used) as i:
            self._clear(used + i)

    def _clear(self, slot: Any) -> None:
        for j, place in enumerate(self.places):
            with self.k.when(self.row == j):
                self.k.store(self.moments, const(0.0, "float32"), slot, 3, self.first_output + place)
