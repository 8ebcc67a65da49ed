"""Convolution over time by minimal filtering (`kernels.base.filtering`) in one launch.

A workgroup computes a tile of rows and outputs. A row is `filtering.outputs` results, `dilation` steps apart.
Neighbouring rows are a step apart within a dilation, as on CPUs. The input of some channels is activated once
for all rows that read it, and transformed, in shared memory. Every point has its own threads, each with sums
of 8 rows times 8 outputs in registers. Only threads of other rows read the same weights, so weights go from
memory straight to registers. At the end the sums of all points meet in shared memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from tvm import tirx

from kokoro_tvm.common.features import Workgroup
from kokoro_tvm.kernels.base.expressions import ceildiv, minimum, select
from kokoro_tvm.kernels.base.filtering import Filtering, transforms
from kokoro_tvm.kernels.base.points import forward, inverse
from kokoro_tvm.kernels.gpu.conv_moments import TileMoments
from kokoro_tvm.kernels.gpu.kernel import GpuKernel
from kokoro_tvm.kernels.gpu.layer import ConvLayer, cast_weight
from kokoro_tvm.kernels.moments import FEWEST_STEPS

_OWN = 8  # rows, and outputs, of a thread
_HELD = 2 * _OWN  # rows that registers hold
_MAX_LANES = 32
_MAX_DEPTH = 16
# By the most taps of a layer. More points save more products, and take more shared memory.
_FILTERINGS = ((3, Filtering(6, 3)), (7, Filtering(5, 7)), (12, Filtering(6, 6)))
# Layers this wide have so many weights that reading transformed ones takes longer than multiplying.
_WIDE = 512 * 512


@dataclass(frozen=True)
class FilteredTile:
    """Sizes of a filtered convolution's tiles.

    Attributes:
        filtering: The minimal filtering.
        taps: Taps of the layer.
        dilation: Steps between taps.
        lanes: Threads of a point.
        depth: Input channels that shared memory holds at a time.
    """

    filtering: Filtering
    taps: int
    dilation: int
    lanes: int
    depth: int

    @property
    def threads(self) -> int:
        """Threads of a workgroup."""
        return self.lanes * self.filtering.points

    @property
    def across(self) -> int:
        """Threads of a point with the same rows."""
        return self.lanes * _OWN // _HELD

    @property
    def outputs(self) -> int:
        """Outputs of a tile."""
        return self.across * _OWN

    @property
    def rows(self) -> int:
        """Rows of a tile: whole dilations, so that a tile's results follow one another."""
        return _HELD // self.dilation * self.dilation

    @property
    def steps(self) -> int:
        """Results of a tile over time."""
        return self.rows * self.filtering.outputs

    @property
    def groups(self) -> int:
        """Groups of taps; each reads the rows a dilation after those of the previous group."""
        return ceildiv(self.taps, self.filtering.taps)

    @property
    def seen_rows(self) -> int:
        """Rows of the input, including those that only later groups read."""
        return self.rows + (self.groups - 1) * self.dilation

    @property
    def pitch(self) -> int:
        """Distance between points of the transformed input."""
        return _HELD + (self.groups - 1) * self.dilation

    @property
    def seen_steps(self) -> int:
        """Steps of the input that a tile reads."""
        last = self.seen_rows // self.dilation - 1
        return (last * self.filtering.outputs + self.filtering.samples) * self.dilation

    @property
    def shared(self) -> tuple[int, int]:
        """Elements of the two shared arrays: the transformed input and the input."""
        # At the end the first holds the sums at all points, and both hold the moments of an eighth of the
        # outputs.
        points, results = self.filtering.points, _HELD * self.across
        transformed = max(self.depth * points * self.pitch, points * results)
        return transformed, max(self.depth * self.seen_pitch, results)

    @property
    def seen_pitch(self) -> int:
        """Distance between channels of the input: odd, so that channels lie in different banks."""
        return self.seen_steps | 1

    @property
    def layout(self) -> str:
        """Text that identifies the layout of packed weights."""
        return str(self.filtering)

    @classmethod
    def choose(
        cls, channels: int, outputs: int, taps: int, dilation: int, workgroup: Workgroup
    ) -> FilteredTile | None:
        """Choose the tile of a layer.

        Args:
            channels: Input channels.
            outputs: Output channels.
            taps: Taps of the filter.
            dilation: Steps between taps.
            workgroup: Limits of the machine.

        Returns:
            The tile, or None if no such kernel exists or the direct kernel is as fast.
        """
        if taps == 1 or dilation > _HELD // 2 or channels * outputs >= _WIDE:
            return None
        filtering = next((f for max_taps, f in _FILTERINGS if taps <= max_taps), _FILTERINGS[-1][1])
        lanes = _MAX_LANES
        while lanes * filtering.points > workgroup.threads:
            lanes //= 2
        tile = cls(filtering, taps, dilation, lanes, _MAX_DEPTH)
        while tile.depth > 1 and 4 * sum(tile.shared) > workgroup.shared_bytes:
            tile = cls(filtering, taps, dilation, lanes, tile.depth // 2)
        is_divisible = channels % tile.depth == outputs % tile.outputs == 0
        return tile if is_divisible and tile.steps >= FEWEST_STEPS else None

    def pack(self, weight: np.ndarray, dtype: str) -> np.ndarray:
        """Pack a weight (O, I, K) as (groups, points, I, O), transformed in float64.

        Raises:
            BuildError: A value exceeds the dtype.
        """
        outputs, inputs, taps = weight.shape
        group = self.filtering.taps
        padded = np.zeros((outputs, inputs, self.groups * group))
        padded[:, :, :taps] = weight
        split = padded.reshape(outputs, inputs, self.groups, group)
        matrix = transforms(self.filtering).weight
        return cast_weight(dtype, np.einsum("pk,ocgk->gpco", matrix, split, optimize=True))


def convolve(k: GpuKernel, tile: FilteredTile, layer: ConvLayer) -> None:
    """Emit the launch of a filtered convolution."""
    filtering, dilation, depth, across = tile.filtering, tile.dilation, tile.depth, tile.across
    points, matrices = filtering.points, transforms(filtering)
    tiles = ceildiv(layer.steps, tile.steps)
    with k.launch(tile.threads, tiles, layer.outputs // tile.outputs) as (thread, bx, by):
        transformed, activated_input = map(k.shared, tile.shared)
        sums = k.zeros(_OWN * _OWN)
        first, first_output = k.let(bx * tile.steps), k.let(by * tile.outputs)

        def begin(row: Any) -> Any:
            """Return the first step of a row, relative to the tile's first."""
            turn = k.let(tirx.truncdiv(row, dilation))
            return k.let(turn * ((filtering.outputs - 1) * dilation) + row)

        row, column = k.divmod(thread, across)

        def moments_of(turn: Any) -> TileMoments:
            """Return the moments of the outputs of a turn."""
            outputs_of_turn = k.let(first_output + turn * across)
            return TileMoments(k, layer.moments, bx, outputs_of_turn, row, _HELD, (column,), across)

        with k.when(first < layer.valid_steps):
            point = k.let(tirx.truncdiv(thread, tile.lanes))
            own_row = k.let(tirx.truncmod(row, _HELD // _OWN) * _OWN)
            with k.loop(layer.channels // depth) as part:
                with k.strided_loop(tile.seen_steps * depth, thread, tile.threads) as number:
                    at, c = k.divmod(number, depth)
                    k.store(
                        activated_input,
                        layer.read(k.let(first + at), k.let(part * depth + c)),
                        c * tile.seen_pitch + at,
                    )
                k.barrier()
                with k.strided_loop(tile.seen_rows * depth, thread, tile.threads) as number:
                    c = k.let(tirx.truncdiv(number, tile.seen_rows))
                    seen_row = k.let(number - c * tile.seen_rows)
                    start = k.let(c * tile.seen_pitch + begin(seen_row))
                    samples = [k.let(activated_input[start + i * dilation]) for i in range(filtering.samples)]
                    for p, value in enumerate(forward(k, matrices, samples, 1)):
                        k.store(transformed, value, (c * points + p) * tile.pitch + seen_row)
                k.barrier()
                with k.loop(tile.groups) as group, k.loop(depth) as c:
                    start = k.let((c * points + point) * tile.pitch + own_row + group * dilation)
                    x = [k.let(transformed[start + i]) for i in range(_OWN)]
                    at = k.let(part * depth + c)
                    w = [
                        k.let(layer.weight[group, point, at, first_output + column + j * across])
                        for j in range(_OWN)
                    ]
                    for i, value in enumerate(x):
                        for j, factor in enumerate(w):
                            at = i * _OWN + j
                            k.accumulate(sums, value * factor, at)
            start = begin(row)
            own = [k.let(first + start + i * dilation) for i in range(filtering.outputs)]
            # A row without results ends before the first step. `and` is a branch in WGSL: with as many as a
            # kernel has, a compiler takes minutes and gigabytes.
            end = k.let(select(row < tile.rows, layer.valid_steps, 0))
            exists_at = [k.let(step < end) for step in own]
            results = k.registers(filtering.outputs) if layer.moments is not None else None
            # An eighth of the outputs in turn. Registers are indexed by constants, so the next sums move to
            # the front.
            with k.loop(_OWN) as turn:
                k.barrier()
                for i in range(_OWN):
                    k.store(transformed, sums[i * _OWN], (point * _HELD + own_row + i) * across + column)
                k.barrier()
                with k.when(row < _HELD):
                    products = [
                        k.let(transformed[(p * _HELD + row) * across + column]) for p in range(points)
                    ]
                    output = k.let(first_output + turn * across + column)
                    for i, value in enumerate(inverse(k, matrices, products, 1)):
                        with k.when(exists_at[i]):
                            written = layer.write(own[i], output, value)
                            if results is not None:
                                k.store(results, written, i)
                if results is not None:
                    count = minimum(layer.valid_steps - first, tile.steps)
                    moments_of(turn).emit(results, exists_at, count, transformed, activated_input)
                for i in range(_OWN):
                    for j in range(_OWN - 1):
                        k.store(sums, sums[i * _OWN + j + 1], i * _OWN + j)
        if layer.moments is not None:
            with k.loop(_OWN) as turn:
                with k.when(layer.valid_steps <= first):
                    moments_of(turn).clear()
                moments_of(turn).clear_remaining(tiles, bx == 0)
