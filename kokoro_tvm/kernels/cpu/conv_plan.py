"""Sizes and weight layouts of the CPU convolution kernels."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kokoro_tvm.common.features import Features
from kokoro_tvm.kernels.base.expressions import ceildiv
from kokoro_tvm.kernels.base.filtering import DIRECT, MOST_POINTS, Filtering, transforms
from kokoro_tvm.kernels.base.schedule import ConvChoice
from kokoro_tvm.kernels.base.semantic import Packing
from kokoro_tvm.kernels.cpu.operand import BFLOAT16, FLOAT32, OPERANDS, Operand

# From this many weights on, reading transformed weights, two to three times as many, takes too long.
_WIDE = 512 * 512
_TILE_ROWS = 32  # two AMX tiles; each is multiplied by the two tiles of a column block
_LARGEST_DILATION = 6  # a register tile holds whole dilations

# Share of the second-level cache for the transformed input of a block; for the input of one point if the
# kernel transforms the weights of a point there, too.
_BLOCK_FLOATS = 96 * 1024


@dataclass(frozen=True)
class ConvPlan:
    """A convolution of stride 1 with dilated taps, the form that all convolutions are reduced to.

    Taps are `dilation` steps apart. A row is `filtering.outputs` results, `dilation` steps apart.
    Neighbouring rows are a step apart within a dilation. Of a tile of `rows` rows x `columns` output
    channels, registers hold `held` rows.
    """

    channels: int  # of the input, times the stride
    outputs: int  # output channels, times the phases
    taps: int
    dilation: int
    features: Features
    tolerant: bool = False  # whether rounding may cost a few bits
    stride: int = 1  # number of the channels that are one channel of the input
    phases: int = 1  # number of the outputs that are one channel of the result
    choice: ConvChoice | None = None  # replaces the rules

    @cached_property
    def operand(self) -> Operand:
        """Operand of the features' precision; float32 if the layer cannot use it."""
        # It loses a few bits, which only tolerant layers may, and channels must fill its lanes; AMX's tiles
        # whole. Layers of one tap read pitch in Hz, not normalized, of which bfloat16 would leave eight bits.
        operand, channels = OPERANDS[self.features.precision], self.channels // self.stride
        together = operand.terms * self.features.lanes
        unit = together if self.features.tiles else operand.terms
        fits = operand.terms == 1 or (self.taps > 1 and channels >= together and channels % unit == 0)
        return operand if self.tolerant and fits else FLOAT32

    @property
    def tiles_multiply(self) -> bool:
        """Whether AMX multiplies."""
        # AMX is so fast that filtering, which saves products, saves no time.
        return self.features.tiles and self.operand is BFLOAT16

    @cached_property
    def filtering(self) -> Filtering:
        """Minimal filtering of the layer: the tuned choice or the rule's, F(1, 1) if it does not pay."""
        if self.choice is not None:
            return self.operand.filtering(self.choice.outputs, self.choice.taps)
        if not self._filters:
            return DIRECT
        filtering = self.operand.filtering_by_rule(self.reach, self.features.lanes)
        stored_transformed = not self.wide and self.phases == 1
        return filtering if stored_transformed or self._can_transform(filtering) else DIRECT

    @property
    def wide(self) -> bool:
        """Whether there are so many weights that reading them takes longer than multiplying."""
        return self.channels * self.outputs >= _WIDE

    @property
    def transforms_weights(self) -> bool:
        """Whether the kernel itself transforms weights, those of a column block and a point at a time."""
        return (self.wide or self.phases > 1) and self._can_transform(self.filtering)

    @property
    def stored(self) -> Filtering:
        """The filtering that the packed weights are transformed for."""
        return DIRECT if self.transforms_weights else self.filtering

    def _can_transform(self, filtering: Filtering) -> bool:
        """Return whether the kernel can transform weights for a filtering: few taps, not nested."""
        return filtering != DIRECT and filtering.within is None and self.reach <= filtering.taps

    @property
    def _filters(self) -> bool:
        """Whether minimal filtering is possible and useful."""
        able = self.tolerant and self.stride == 1 and self.taps > 1 and self.dilation <= _LARGEST_DILATION
        return able and not self.tiles_multiply

    @property
    def reach(self) -> int:
        """Steps that the results of all phases read; late phases start a step later."""
        return self.taps + (1 if self.phases > 1 else 0)

    def allows(self, filtering: Filtering) -> bool:
        """Return whether a kernel with this filtering exists."""
        # A further group of taps must read whole rows later.
        if filtering == DIRECT:
            return True
        if self.phases > 1 and not self._can_transform(filtering):
            return False
        is_complete = filtering.taps >= self.taps or filtering.taps == filtering.outputs
        return self._filters and is_complete and (filtering.circle or filtering.inner.points <= MOST_POINTS)

    @property
    def terms(self) -> int:
        """Lanes that a result sums per tap and point."""
        return self.channels // self.operand.terms

    @property
    def groups(self) -> int:
        """Groups of taps; each reads the rows a dilation after those of the previous group."""
        return ceildiv(self.taps, self.filtering.taps)

    @property
    def tile_rows(self) -> int:
        """Rows of a register tile: whole dilations if the registers suffice."""
        # Each row has two accumulators. Operands need registers, too: a vector of values for every row if
        # kernels work by lane.
        if self.tiles_multiply:
            return _TILE_ROWS
        many_rows = 10 if self.features.by_lane else 12
        registers = self.features.registers
        max_rows = many_rows if registers >= 32 else 6 if registers >= 16 else 4
        if self.filtering == DIRECT or self.dilation > max_rows:
            return max_rows
        return max_rows // self.dilation * self.dilation

    @property
    def rows(self) -> int:
        """Rows of a tile: one register tile, or as many as make whole dilations."""
        # Blocks start where dilations start.
        return self.tile_rows if self.filtering == DIRECT else math.lcm(self.tile_rows, self.dilation)

    @property
    def few_rows(self) -> int:
        """Rows of the smaller tile for the last rows of a block, or 0 if there is none."""
        return self.rows // 2 if self.filtering == DIRECT else 0

    @property
    def vectors(self) -> int:
        """Vectors of a column block."""
        return 2

    @property
    def columns(self) -> int:
        """Output channels of a column block."""
        return self.vectors * self.features.lanes

    @property
    def column_blocks(self) -> int:
        """Blocks of output channels."""
        return ceildiv(self.outputs, self.columns)

    @property
    def row_floats(self) -> int:
        """Distance between rows of the transformed input, in elements."""
        # Not a power of two, so that the rows of a tile do not fall on the same cache sets.
        return self.terms + self.features.lanes

    @property
    def halo(self) -> int:
        """Rows that a block reads beyond its own."""
        return (self.groups - 1) * self.dilation

    @property
    def tiles(self) -> int:
        """Tiles of the largest block."""
        if self.choice is not None and self.choice.tiles is not None:
            return self.choice.tiles
        rows = _BLOCK_FLOATS // (self.terms * self.stored.points) - self.halo
        return max(min(rows, 192) // self.rows, 1)

    @property
    def tile_steps(self) -> int:
        """Time steps that a tile yields."""
        return self.rows * self.filtering.outputs

    @property
    def part(self) -> int:
        """Input channels summed in one partial sum."""
        # The rounding error of a sum grows with its parts, not with its terms. Layers of one or few taps make
        # up the text side and the pitch, where errors add up over the utterance.
        if self.tolerant:
            return self.terms
        terms = 48 if self.taps <= 5 else 128
        return max(terms // self.taps, 1)

    @property
    def packed_shape(self) -> tuple[int, ...]:
        """Shape of the weights as `packing` lays them out."""
        groups = ceildiv(self.taps, self.stored.taps)
        return (self.column_blocks, self.stored.points, groups, self.terms, self.columns)

    @property
    def layout(self) -> str:
        """Text that identifies the layout of the weights."""
        return f"{self.operand.name}, {self.stored}, columns={self.columns}"


def packing(name: str, plan: ConvPlan, weight: Callable[[np.ndarray], np.ndarray]) -> Packing:
    """Return the packing of a layer's weight for a plan.

    Args:
        name: Name of the packing.
        plan: Sizes of the convolution.
        weight: Maps the layer's weight to (outputs, channels, taps).

    Returns:
        A packing to `plan.packed_shape`, transformed, in the dtype of the operand's weights.
    """
    return Packing(
        name,
        lambda array: _arrange(weight(array), plan),
        plan.columns,
        transforms(plan.stored).weight,
        plan.operand.pack,
    )


def _arrange(weight: np.ndarray, plan: ConvPlan) -> np.ndarray:
    """Arrange (outputs, channels, taps) in blocks with taps in place of points, padded with zeros."""
    outputs, channels, taps = weight.shape
    group, groups = plan.stored.taps, plan.packed_shape[2]
    padded = np.zeros((plan.column_blocks * plan.columns, channels, groups * group), np.float32)
    padded[:outputs, :, :taps] = weight
    split = padded.reshape(plan.column_blocks, plan.columns, channels, groups, group)
    return np.ascontiguousarray(split.transpose(0, 4, 3, 2, 1))


def fold_stride(weight: np.ndarray, stride: int) -> np.ndarray:
    """Fold a strided convolution (O, I, K) to one of stride 1 over stride * I channels, residue-major."""
    outputs, channels, taps = weight.shape
    folded_taps = ceildiv(taps, stride)
    padded = np.zeros((outputs, channels, folded_taps * stride), weight.dtype)
    padded[:, :, :taps] = weight
    split = padded.reshape(outputs, channels, folded_taps, stride)
    return split.transpose(0, 3, 1, 2).reshape(outputs, stride * channels, folded_taps)


def split_phases(weight: np.ndarray, stride: int, columns: int) -> np.ndarray:
    """Split a transposed convolution (I, O, 2*stride) into `stride` convolutions of two taps.

    The phases follow one another; each is padded to whole blocks of `columns` outputs.
    """
    inputs, outputs, _ = weight.shape
    width = ceildiv(outputs, columns) * columns
    rows = np.zeros((stride * width, inputs, 2), weight.dtype)
    for phase in range(stride):
        near = (phase + stride // 2) % stride
        for tap, source in enumerate(
            (near + stride, near)
        ):  # the later weight multiplies the earlier input step
            rows[phase * width : phase * width + outputs, :, tap] = weight[:, :, source].T
    return rows
