"""Convolution over time on GPUs, tiled for a workgroup in shared memory and for a thread in registers.

The steps that a tile reads, with the halo of its taps, are read, normalized and activated once for all taps
and all channels of the tile.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from tvm import tirx

from kokoro_tvm.kernels.base.expressions import ceildiv, const, logical_and, minimum
from kokoro_tvm.kernels.gpu.conv_moments import TileMoments
from kokoro_tvm.kernels.gpu.kernel import GpuKernel
from kokoro_tvm.kernels.gpu.layer import ConvLayer, cast_weight
from kokoro_tvm.kernels.moments import FEWEST_STEPS

_SHARED = 16384  # bytes, available on every kind of GPU


@dataclass(frozen=True)
class Tile:
    """Sizes of a convolution's tiles.

    Attributes:
        steps: Steps of a workgroup's tile.
        outputs: Outputs of a workgroup's tile.
        own_steps: Steps of a thread's tile.
        own_outputs: Outputs of a thread's tile.
        depth: Input channels that shared memory holds at a time.
    """

    steps: int
    outputs: int
    own_steps: int
    own_outputs: int
    depth: int

    @property
    def threads(self) -> int:
        """Threads of a workgroup."""
        return self.steps // self.own_steps * (self.outputs // self.own_outputs)

    @property
    def layout(self) -> str:
        """Text that identifies the layout of packed weights."""
        return f"{self.depth}x{self.outputs}"

    @property
    def partial_sums(self) -> int:
        """Partial sums of all threads, one for each of a thread's outputs."""
        return self.steps // self.own_steps * self.outputs

    def rows(self, taps: int, dilation: int) -> int:
        """Return the steps of the input that a tile reads."""
        return self.steps + (taps - 1) * dilation

    def pack(self, weight: np.ndarray, dtype: str) -> np.ndarray:
        """Pack a weight (O, I, K) as (K, I', O'); I' and O' are whole tiles, padded with zeros."""
        outputs, inputs, taps = weight.shape
        rows, columns = (
            ceildiv(inputs, self.depth) * self.depth,
            ceildiv(outputs, self.outputs) * self.outputs,
        )
        packed = np.zeros((taps, rows, columns))
        packed[:, :inputs, :outputs] = weight.transpose(2, 1, 0)
        return cast_weight(dtype, packed)

    @classmethod
    def choose(cls, channels: int, outputs: int, taps: int, dilation: int, moments: bool = False) -> Tile:
        """Choose the tile of a layer.

        Args:
            channels: Input channels.
            outputs: Output channels.
            taps: Taps of the filter.
            dilation: Steps between taps.
            moments: Whether each tile emits the moments of its results, which takes at least `FEWEST_STEPS`.

        Returns:
            The tile, as deep as shared memory allows beside the halo.
        """
        # Wide layers are short in time and narrow ones long.
        for tile in _TILES:
            if outputs > tile.outputs // 2 or tile is _TILES[-1]:
                break
        if moments:
            tile = replace(tile, steps=max(tile.steps, FEWEST_STEPS))
        depth = tile.depth
        while depth > 1 and 4 * depth * (tile.rows(taps, dilation) + tile.outputs) > _SHARED:
            depth //= 2
        while depth > 1 and depth // 2 >= channels:
            depth //= 2
        return replace(tile, depth=depth)


_TILES = (Tile(32, 64, 4, 8, 16), Tile(64, 32, 4, 8, 16), Tile(128, 8, 2, 8, 16))


def convolve(
    k: GpuKernel,
    tile: Tile,
    layer: ConvLayer,
    *,
    shift: Callable[[Any], Any] = lambda output: 0,
    phases: int = 1,
    leading: int = 0,
    tolerant: bool = False,
) -> None:
    """Emit the launch of a convolution.

    Args:
        k: The kernel.
        tile: Sizes of the tiles.
        layer: The convolution.
        shift: Returns the rows by which an output reads later, the same for all outputs of a tile.
        phases: How many times the result's channels the outputs are, each time at other steps, which have
            their own moments.
        leading: Slots before those of all tiles, which `layer.write` fills.
        tolerant: See `conv1d`. If true, sums are taken in one go, else in parts of some channels.
    """
    threads, depth, rows = tile.threads, tile.depth, tile.rows(layer.taps, layer.dilation)
    across, apart = tile.outputs // tile.own_outputs, tile.steps // tile.own_steps
    tiles = ceildiv(layer.steps, tile.steps)
    with k.launch(threads, tiles, ceildiv(layer.outputs, tile.outputs)) as (thread, bx, by):
        sizes = rows * depth, depth * tile.outputs
        if layer.moments is not None:
            sizes = max(sizes[0], tile.partial_sums), max(sizes[1], tile.partial_sums)
        values, factors = map(k.shared, sizes)
        own = range(tile.own_steps * tile.own_outputs)
        sums = k.registers(len(own))
        totals = sums if tolerant else k.registers(len(own))
        for at in own:
            k.store(totals, const(0.0, "float32"), at)
        first, first_output = k.let(bx * tile.steps), k.let(by * tile.outputs)
        # Threads of a row have neighbouring outputs, so that they write neighbours; steps likewise.
        column, row = k.let(tirx.truncmod(thread, across)), k.let(tirx.truncdiv(thread, across))
        begin = k.let(first + shift(first_output))
        if layer.moments is not None:
            channels_out = layer.outputs // phases
            phase = k.let(tirx.truncdiv(first_output, channels_out)) if phases > 1 else k.index(0)
            tile_moments = TileMoments(
                k,
                layer.moments,
                slot=k.let(bx * phases + phase + leading),
                first_output=k.let(first_output - phase * channels_out),
                row=row,
                rows=apart,
                places=[k.let(column + j * across) for j in range(tile.own_outputs)],
                outputs=tile.outputs,
            )
        with k.when(first < layer.valid_steps):
            with k.loop(ceildiv(layer.channels, depth)) as part:
                with k.strided_loop(rows * depth, thread, threads) as number:
                    at, c = k.divmod(number, depth)
                    channel = k.let(part * depth + c)

                    def fill(at: Any = at, c: Any = c, channel: Any = channel) -> None:
                        """Read an input value to shared memory."""
                        k.store(values, layer.read(k.let(begin + at), channel), c * rows + at)

                    def clear(at: Any = at, c: Any = c) -> None:
                        """Set an input value in shared memory to 0."""
                        k.store(values, const(0.0, "float32"), c * rows + at)

                    if layer.channels % depth == 0:
                        fill()
                    else:
                        k.choose(channel < layer.channels, fill, clear)
                if not tolerant:
                    for at in own:
                        k.store(sums, const(0.0, "float32"), at)
                with k.loop(layer.taps) as tap:
                    with k.strided_loop(depth * tile.outputs, thread, threads) as number:
                        c, o = k.divmod(number, tile.outputs)
                        k.store(
                            factors,
                            k.to_float32(layer.weight[tap, part * depth + c, first_output + o]),
                            number,
                        )
                    k.barrier()
                    with k.loop(depth) as c:
                        x = [
                            k.let(values[c * rows + row + i * apart + tap * layer.dilation])
                            for i in range(tile.own_steps)
                        ]
                        w = [
                            k.let(factors[c * tile.outputs + column + j * across])
                            for j in range(tile.own_outputs)
                        ]
                        for i, value in enumerate(x):
                            for j, factor in enumerate(w):
                                at = i * tile.own_outputs + j
                                k.accumulate(sums, value * factor, at)
                    k.barrier()
                if not tolerant:
                    for at in own:
                        k.accumulate(totals, sums[at], at)
            for i in range(tile.own_steps):
                step = k.let(first + row + i * apart)
                for j in range(tile.own_outputs):
                    output = k.let(first_output + column + j * across)
                    exists = step < layer.valid_steps
                    if layer.outputs % tile.outputs:
                        exists = logical_and(exists, output < layer.outputs)
                    at = i * tile.own_outputs + j
                    with k.when(exists):
                        written = layer.write(step, output, totals[at])
                        if layer.moments is not None:
                            k.store(totals, written, at)
            if layer.moments is not None:
                own_steps = [first + row + i * apart for i in range(tile.own_steps)]
                exists_at = [k.let(step < layer.valid_steps) for step in own_steps]
                tile_moments.emit(
                    totals, exists_at, minimum(layer.valid_steps - first, tile.steps), values, factors
                )
        if layer.moments is not None:
            with k.when(layer.valid_steps <= first):
                tile_moments.clear()
            tile_moments.clear_remaining(tiles * phases + leading, bx + phase == 0)
