"""Convolution over time on matrix units: float16 operands, float32 sums (NVIDIA's tensor cores).

A workgroup computes a tile of steps and outputs. The input of some channels is activated once for all taps
and rounded to float16, in shared memory. A subgroup has some of the steps and of the outputs: it multiplies
16 steps by 16 channels and 16 channels by 8 outputs at a time, and each lane holds a few elements
(`GpuKernel.multiply_matrices`). Weights are packed as lanes hold them, and go from memory straight to
registers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from tvm import tirx

from kokoro_tvm.common.features import Workgroup
from kokoro_tvm.kernels.base.expressions import ceildiv, const, minimum
from kokoro_tvm.kernels.gpu.conv_moments import TileMoments
from kokoro_tvm.kernels.gpu.kernel import GpuKernel
from kokoro_tvm.kernels.gpu.layer import ConvLayer, cast_weight

_STEPS, _OUTPUTS, _CHANNELS = 16, 8, 16  # of one multiplication of matrices
_LANES = 32
_ROWS = 8  # of lanes; the lanes of a row hold the same steps
_DEPTH = 32  # channels of the input that shared memory holds at a time
# Words (of two elements) between steps: lanes read four words of each of eight steps from different banks.
_PITCH = _DEPTH // 2 + 4
_WIDE = 512


@dataclass(frozen=True)
class MatrixTile:
    """Sizes of a tile on matrix units.

    Attributes:
        step_groups: Subgroups along the steps.
        output_groups: Subgroups along the outputs.
        own_steps: Multiplications of a subgroup along the steps.
        own_outputs: Multiplications of a subgroup along the outputs.
    """

    step_groups: int
    output_groups: int
    own_steps: int
    own_outputs: int

    @property
    def threads(self) -> int:
        """Threads of a workgroup."""
        return self.step_groups * self.output_groups * _LANES

    @property
    def steps(self) -> int:
        """Steps of a tile."""
        return self.step_groups * self.own_steps * _STEPS

    @property
    def across(self) -> int:
        """Outputs that all subgroups multiply by at a time."""
        return self.output_groups * _OUTPUTS

    @property
    def outputs(self) -> int:
        """Outputs of a tile."""
        return self.across * self.own_outputs

    @property
    def layout(self) -> str:
        """Text that identifies the layout of packed weights."""
        return f"m{_STEPS}n{_OUTPUTS}k{_CHANNELS}"

    def shared(self, taps: int, dilation: int) -> tuple[int, int]:
        """Return the words of the shared input, and of each of the two shared arrays of moments."""
        rows = self.steps + (taps - 1) * dilation
        return rows * _PITCH, self.step_groups * _ROWS * self.across

    @classmethod
    def choose(
        cls, channels: int, outputs: int, taps: int, dilation: int, workgroup: Workgroup
    ) -> MatrixTile | None:
        """Choose the tile of a layer, or None if no such kernel exists."""
        # Wide layers are short in time: smaller tiles make as many workgroups.
        tile = _SMALL if outputs >= _WIDE else _LARGE
        words, moments = tile.shared(taps, dilation)
        fits = tile.threads <= workgroup.threads and 4 * (words + 2 * moments) <= workgroup.shared_bytes
        return tile if fits and channels >= _CHANNELS and outputs % tile.outputs == 0 else None

    def pack(self, weight: np.ndarray, dtype: str) -> np.ndarray:
        """Pack a weight (O, I, K) as words (K, I'/16, O/8, 32, 2) of two float16, as the lanes hold them.

        I' is a whole depth, padded with zeros.

        Raises:
            BuildError: A value exceeds float16.
        """
        outputs, inputs, taps = weight.shape
        padded = np.zeros((outputs, ceildiv(inputs, _DEPTH) * _DEPTH, taps))
        padded[:, :inputs] = weight
        # By lane: output lane // 4; channels 2 * (lane % 4) and the next, and 8 later.
        split = padded.reshape(outputs // _OUTPUTS, _OUTPUTS, -1, 2, 4, 2, taps)
        lanes = cast_weight(dtype, split.transpose(6, 2, 0, 1, 4, 3, 5))
        return lanes.reshape(taps, -1, outputs // _OUTPUTS, _LANES, 4).view(np.int32)


_LARGE, _SMALL = MatrixTile(1, 4, 4, 4), MatrixTile(2, 2, 2, 4)


def convolve(k: GpuKernel, tile: MatrixTile, layer: ConvLayer) -> None:
    """Emit the launch of a convolution on matrix units."""
    across, own_outputs = tile.across, tile.own_outputs
    tiles = ceildiv(layer.steps, tile.steps)
    with k.launch(tile.threads, tiles, layer.outputs // tile.outputs) as (thread, bx, by):
        words, of_moments = tile.shared(layer.taps, layer.dilation)
        values = k.shared(words, "int32")
        parts, others = (k.shared(of_moments) for _ in range(2))
        sums = k.zeros(tile.own_steps * own_outputs * 4)
        first, first_output = k.let(bx * tile.steps), k.let(by * tile.outputs)
        group, lane = k.divmod(thread, _LANES)
        row, column = k.divmod(lane, 4)
        along = k.let(tirx.truncdiv(group, tile.output_groups) * (tile.own_steps * _STEPS) + row)
        output_group = k.let(tirx.truncmod(group, tile.output_groups))
        first_column = k.let(output_group * _OUTPUTS + column * 2)

        def moments_of(turn: Any) -> TileMoments:
            """Return the moments of the outputs of a turn."""
            own_row = k.let(tirx.truncdiv(group, tile.output_groups) * _ROWS + row)
            outputs_of_turn, rows = k.let(first_output + turn * across), tile.step_groups * _ROWS
            places = (first_column, k.let(first_column + 1))
            return TileMoments(k, layer.moments, bx, outputs_of_turn, own_row, rows, places, across)

        with k.when(first < layer.valid_steps):
            with k.loop(ceildiv(layer.channels, _DEPTH)) as part:
                with k.strided_loop(words // _PITCH * (_DEPTH // 2), thread, tile.threads) as number:
                    at = k.let(tirx.truncdiv(number, _DEPTH // 2))
                    pair = k.let(tirx.truncmod(number, _DEPTH // 2))
                    channel = k.let(part * _DEPTH + pair * 2)
                    two = k.registers(2)
                    for i in range(2):
                        k.store(two, const(0.0, "float32"), i)
                        with k.when(channel + i < layer.channels):
                            k.store(two, layer.read(k.let(first + at), k.let(channel + i)), i)
                    k.store(values, k.pack_float16(two[0], two[1]), at * _PITCH + pair)
                k.barrier()
                with k.loop(layer.taps) as tap, k.loop(_DEPTH // _CHANNELS) as turn:
                    at = k.let(part * (_DEPTH // _CHANNELS) + turn)
                    factors = k.registers(own_outputs * 2, "int32")
                    for j in range(own_outputs):
                        eight = k.let(by * (tile.outputs // _OUTPUTS) + j * tile.output_groups + output_group)
                        for i in range(2):
                            k.store(factors, layer.weight[tap, at, eight, lane, i], j * 2 + i)
                    start = k.let((along + tap * layer.dilation) * _PITCH + turn * (_CHANNELS // 2) + column)
                    for m in range(tile.own_steps):
                        x = k.registers(4, "int32")
                        for i in range(4):
                            below, later = i % 2 * _ROWS, i // 2 * (_CHANNELS // 4)
                            k.store(x, values[start + (m * _STEPS + below) * _PITCH + later], i)
                        for j in range(own_outputs):
                            k.multiply_matrices(sums, (m * own_outputs + j) * 4, x, factors, j * 2)
                k.barrier()
            own = [
                k.let(first + along + m * _STEPS + below)
                for m in range(tile.own_steps)
                for below in (0, _ROWS)
            ]
            exists_at = [k.let(step < layer.valid_steps) for step in own]
            # The outputs in turn. Registers are indexed by constants, so the next sums move to the front.
            with k.loop(own_outputs) as turn:
                results = k.registers(len(own) * 2) if layer.moments is not None else None
                for i, step in enumerate(own):
                    with k.when(exists_at[i]):
                        for j in range(2):
                            output = k.let(first_output + turn * across + first_column + j)
                            total = sums[(i // 2 * own_outputs) * 4 + i % 2 * 2 + j]
                            written = layer.write(step, output, total)
                            if results is not None:
                                k.store(results, written, i * 2 + j)
                if results is not None:
                    k.barrier()
                    moments_of(turn).emit(
                        results, exists_at, minimum(layer.valid_steps - first, tile.steps), parts, others
                    )
                for m in range(tile.own_steps):
                    for at in range((own_outputs - 1) * 4):
                        at += m * own_outputs * 4
                        k.store(sums, sums[at + 4], at)
        if layer.moments is not None:
            with k.loop(own_outputs) as turn:
                with k.when(layer.valid_steps <= first):
                    moments_of(turn).clear()
                moments_of(turn).clear_remaining(tiles, bx == 0)
