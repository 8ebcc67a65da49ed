"""Sizes and weight layouts of the convolution kernels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kokoro_tvm.ops._features import Features
from kokoro_tvm.ops._filtering import DIRECT, Filtering, transforms
from kokoro_tvm.ops._kernel import ceildiv

__all__ = ["Plan", "folded", "pack", "phases"]

_BLOCK_FLOATS = 96 * 1024  # what the transformed input of a block may take of the second-level cache


@dataclass(frozen=True)
class Plan:
    """One convolution in the form that all share: stride 1, taps `dilation` steps apart.

    A row is `filtering.outputs` results, `dilation` steps apart; rows beside one another are a step apart
    within a dilation. A tile of `rows` rows x `columns` output channels is held in registers.
    """

    channels: int  # of the input, times the stride
    outputs: int  # output channels, times the phases
    taps: int
    dilation: int
    features: Features
    filtering: Filtering = DIRECT

    @property
    def groups(self) -> int:
        """Groups of taps; each sees the rows a dilation later than the one before."""
        return ceildiv(self.taps, self.filtering.taps)

    @property
    def rows(self) -> int:
        """Rows of a register tile: whole dilations, so that a block starts where a dilation starts."""
        most = 12 if self.features.registers >= 32 else 6  # two accumulators each, and room for operands
        return most if self.filtering == DIRECT else most // self.dilation * self.dilation

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
        """From row to row of the transformed input: not a power of two, so that the rows of a tile do not fall
        on the same cache sets."""
        return self.channels + self.features.lanes

    @property
    def halo(self) -> int:
        """Rows a block reads beyond its own."""
        return (self.groups - 1) * self.dilation

    @property
    def tiles(self) -> int:
        """Register tiles one above the other in the largest block."""
        rows = _BLOCK_FLOATS // (self.channels * self.filtering.points) - self.halo
        return max(min(rows, 192) // self.rows, 1)

    @property
    def tile_steps(self) -> int:
        """Time steps a register tile yields."""
        return self.rows * self.filtering.outputs

    @property
    def part(self) -> int:
        """Input channels summed in one go: the rounding error of a sum grows with its parts, not with its
        terms.

        Layers of one or few taps make up the text side and the pitch, where errors add up over the utterance.
        """
        if self.filtering != DIRECT:
            return self.channels
        terms = 16 if self.taps == 1 else 48 if self.taps <= 5 else 128
        return max(terms // self.taps, 1)

    @property
    def packed_shape(self) -> tuple[int, ...]:
        """Extents of the weights as `pack` lays them out."""
        return (self.column_blocks, self.filtering.points, self.groups, self.channels, self.columns)

    @property
    def layout(self) -> str:
        """What tells layouts of weights apart."""
        return f"columns={self.columns}, outputs={self.filtering.outputs}, taps={self.filtering.taps}"

    @property
    def total_type(self) -> str:
        """What the parts are added up in: the many layers of BERT are of one tap, and each adds its error."""
        return "float64" if self.taps == 1 else "float32"


def pack(weight: np.ndarray, plan: Plan) -> np.ndarray:
    """(outputs, channels, taps) -> (column blocks, points, groups, channels, columns), transformed in float64;
    zero columns where outputs do not fill a block."""
    outputs, channels, taps = weight.shape
    group = plan.filtering.taps
    padded = np.zeros((plan.column_blocks * plan.columns, channels, plan.groups * group))
    padded[:outputs, :, :taps] = weight
    split = padded.reshape(plan.column_blocks, plan.columns, channels, plan.groups, group)
    points = np.einsum("pk,bocgk->bpgco", transforms(plan.filtering).weight, split, optimize=True)
    return np.ascontiguousarray(points, np.float32)


def folded(weight: np.ndarray, stride: int) -> np.ndarray:
    """A strided convolution (O, I, K) as one of stride 1 over `stride` times the channels (residue-major)."""
    outputs, channels, taps = weight.shape
    kept = ceildiv(taps, stride)
    padded = np.zeros((outputs, channels, kept * stride), weight.dtype)
    padded[:, :, :taps] = weight
    split = padded.reshape(outputs, channels, kept, stride)
    return split.transpose(0, 3, 1, 2).reshape(outputs, stride * channels, kept)


def phases(weight: np.ndarray, stride: int, columns: int) -> np.ndarray:
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
