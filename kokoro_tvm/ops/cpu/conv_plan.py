"""Sizes and weight layouts of the convolution kernels."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kokoro_tvm.features import Features
from kokoro_tvm.ops.base.expressions import ceildiv
from kokoro_tvm.ops.base.filtering import DIRECT, MOST_POINTS, Filtering, transforms
from kokoro_tvm.ops.base.schedule import ConvChoice
from kokoro_tvm.ops.base.semantic import Packing
from kokoro_tvm.ops.cpu.operand import BFLOAT16, FLOAT32, OPERANDS, Operand

__all__ = ["ConvPlan", "fold_stride", "packing", "split_phases"]

# Layers this wide have so many weights that reading transformed ones, two to three times as many, takes long.
_WIDE = 512 * 512
_TILE_ROWS = 32  # of two tiles of AMX, each with the two of a column block
_LARGEST_DILATION = 6  # a register tile holds whole dilations

# What the transformed input of a block may take of the second-level cache; of one point, where the weights of
# a point are transformed there too.
_BLOCK_FLOATS = 96 * 1024


@dataclass(frozen=True)
class ConvPlan:
    """One convolution in the form that all share: stride 1, taps `dilation` steps apart.

    A row is `filtering.outputs` results, `dilation` steps apart; rows beside one another are a step apart
    within a dilation. Of a tile of `rows` rows x `columns` output channels, registers hold `held` rows.
    """

    channels: int  # of the input, times the stride
    outputs: int  # output channels, times the phases
    taps: int
    dilation: int
    features: Features
    tolerant: bool = False  # whether rounding may cost a few bits
    stride: int = 1  # how many of the channels are one channel of the input
    phases: int = 1  # how many of the outputs are one channel of the result
    choice: ConvChoice | None = None  # what to take in place of the rules

    @cached_property
    def operand(self) -> Operand:
        """That of the features' precision where a few bits may be lost and the channels fill its lanes."""
        wanted = OPERANDS[self.features.precision]
        whole = self.channels // self.stride % (wanted.terms * self.features.lanes) == 0
        return wanted if self.tolerant and (whole or wanted.terms == 1) else FLOAT32

    @property
    def tiles_multiply(self) -> bool:
        """Whether AMX does: so fast that filtering, which saves products, saves no time."""
        return self.features.tiles and self.operand is BFLOAT16

    @cached_property
    def filtering(self) -> Filtering:
        """Minimal filtering where a few bits may be lost and it saves products."""
        if self.choice is not None:
            return self.operand.filtering(self.choice.outputs, self.choice.taps)
        if not self._filters:
            return DIRECT
        found = self.operand.filtering_by_rule(self.reach, self.features.lanes)
        stored_transformed = not self.wide and self.phases == 1
        return found if stored_transformed or self._transformable(found) else DIRECT

    @property
    def wide(self) -> bool:
        """Whether there are so many weights that reading them takes longer than multiplying."""
        return self.channels * self.outputs >= _WIDE

    @property
    def transforms_weights(self) -> bool:
        """Whether the kernel transforms weights, those of a column block and a point at a time."""
        return (self.wide or self.phases > 1) and self._transformable(self.filtering)

    @property
    def stored(self) -> Filtering:
        """The filtering that the packed weights are transformed for."""
        return DIRECT if self.transforms_weights else self.filtering

    def _transformable(self, filtering: Filtering) -> bool:
        alone = filtering != DIRECT and filtering.within is None
        return alone and self.reach <= filtering.taps and self.operand.dtype == "float32"

    @property
    def _filters(self) -> bool:
        """Whether minimal filtering is possible and of use at all."""
        able = self.tolerant and self.stride == 1 and self.taps > 1 and self.dilation <= _LARGEST_DILATION
        return able and not self.tiles_multiply

    @property
    def reach(self) -> int:
        """Steps that the results of all phases see; those of late ones start a step later."""
        return self.taps + (1 if self.phases > 1 else 0)

    def allows(self, filtering: Filtering) -> bool:
        """Whether there is a kernel with this filtering: a further group of taps sees whole rows later."""
        if filtering == DIRECT:
            return True
        if self.phases > 1 and not self._transformable(filtering):
            return False
        whole = filtering.taps >= self.taps or filtering.taps == filtering.outputs
        return self._filters and whole and filtering.inner.points <= MOST_POINTS

    @property
    def terms(self) -> int:
        """Lanes a result sums per tap and point."""
        return self.channels // self.operand.terms

    @property
    def groups(self) -> int:
        """Groups of taps; each sees the rows a dilation later than the one before."""
        return ceildiv(self.taps, self.filtering.taps)

    @property
    def held(self) -> int:
        """Rows of a register tile: whole dilations, where there are registers for one. Two accumulators each,
        and room for operands: a vector of values of every row, where they are read so."""
        if self.tiles_multiply:
            return _TILE_ROWS
        many = 10 if self.features.by_lane else 12
        registers = self.features.registers
        most = many if registers >= 32 else 6 if registers >= 16 else 4
        if self.filtering == DIRECT or self.dilation > most:
            return most
        return most // self.dilation * self.dilation

    @property
    def rows(self) -> int:
        """Rows of a tile, of one register tile or several: whole dilations, so that a block starts where a
        dilation starts."""
        return self.held if self.filtering == DIRECT else math.lcm(self.held, self.dilation)

    @property
    def few_rows(self) -> int:
        """Rows of the tile that takes the last ones where so few are left; 0 where there is no such tile."""
        return self.rows // 2 if self.filtering == DIRECT else 0

    @property
    def vectors(self) -> int:
        return 2

    @property
    def columns(self) -> int:
        return self.vectors * self.features.lanes

    @property
    def column_blocks(self) -> int:
        return ceildiv(self.outputs, self.columns)

    @property
    def row_floats(self) -> int:
        """From row to row of the transformed input: not a power of two, so that the rows of a tile do not
        fall on the same cache sets."""
        return self.terms + self.features.lanes

    @property
    def halo(self) -> int:
        """Rows a block reads beyond its own."""
        return (self.groups - 1) * self.dilation

    @property
    def tiles(self) -> int:
        """Tiles one above the other in the largest block."""
        if self.choice is not None and self.choice.tiles is not None:
            return self.choice.tiles
        rows = _BLOCK_FLOATS // (self.terms * self.stored.points) - self.halo
        return max(min(rows, 192) // self.rows, 1)

    @property
    def tile_steps(self) -> int:
        """Time steps a tile yields."""
        return self.rows * self.filtering.outputs

    @property
    def part(self) -> int:
        """Input channels summed in one go: the rounding error of a sum grows with its parts, not with its
        terms.

        Layers of one or few taps make up the text side and the pitch, where errors add up over the utterance.
        """
        if self.tolerant:
            return self.terms
        terms = 48 if self.taps <= 5 else 128
        return max(terms // self.taps, 1)

    @property
    def packed_shape(self) -> tuple[int, ...]:
        """Extents of the weights as `packing` lays them out."""
        groups = ceildiv(self.taps, self.stored.taps)
        return (self.column_blocks, self.stored.points, groups, self.terms, self.columns)

    @property
    def layout(self) -> str:
        """What tells layouts of weights apart."""
        return f"{self.operand.name}, {self.stored}, columns={self.columns}"


def packing(name: str, plan: ConvPlan, weight: Callable[[np.ndarray], np.ndarray]) -> Packing:
    """(outputs, channels, taps), which `weight` makes of a layer's own, -> `ConvPlan.packed_shape`, transformed.
    Of the dtype that the operand's weights are stored as."""
    return Packing(
        name,
        lambda array: _arranged(weight(array), plan),
        plan.columns,
        transforms(plan.stored).weight,
        plan.operand.pack,
    )


def _arranged(weight: np.ndarray, plan: ConvPlan) -> np.ndarray:
    """Taps where the points will be; zero columns where outputs do not fill a block."""
    outputs, channels, taps = weight.shape
    group, groups = plan.stored.taps, plan.packed_shape[2]
    padded = np.zeros((plan.column_blocks * plan.columns, channels, groups * group), np.float32)
    padded[:outputs, :, :taps] = weight
    split = padded.reshape(plan.column_blocks, plan.columns, channels, groups, group)
    return np.ascontiguousarray(split.transpose(0, 4, 3, 2, 1))


def fold_stride(weight: np.ndarray, stride: int) -> np.ndarray:
    """A strided convolution (O, I, K) as one of stride 1 over `stride` times the channels (residue-major)."""
    outputs, channels, taps = weight.shape
    kept = ceildiv(taps, stride)
    padded = np.zeros((outputs, channels, kept * stride), weight.dtype)
    padded[:, :, :taps] = weight
    split = padded.reshape(outputs, channels, kept, stride)
    return split.transpose(0, 3, 1, 2).reshape(outputs, stride * channels, kept)


def split_phases(weight: np.ndarray, stride: int, columns: int) -> np.ndarray:
    """A transposed convolution (I, O, 2*stride) as `stride` convolutions of two taps, one after another, each
    filled up to whole blocks of `columns`."""
    inputs, outputs, _ = weight.shape
    width = ceildiv(outputs, columns) * columns
    rows = np.zeros((stride * width, inputs, 2), weight.dtype)
    for phase in range(stride):
        near = (phase + stride // 2) % stride
        for tap, source in enumerate((near + stride, near)):  # the earlier input step takes the later weight
            rows[phase * width : phase * width + outputs, :, tap] = weight[:, :, source].T
    return rows
