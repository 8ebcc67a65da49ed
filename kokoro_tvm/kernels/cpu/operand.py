"""Operands of a convolution: how they are stored, rounded and multiplied. Sums are float32."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kokoro_tvm.common.errors import BuildError
from kokoro_tvm.kernels.base.filtering import Filtering
from kokoro_tvm.kernels.cpu.bfloat16 import pack_pairs
from kokoro_tvm.kernels.cpu import dot
from kokoro_tvm.kernels.base.expressions import ceildiv, const, minimum
from kokoro_tvm.kernels.cpu.kernel import CpuKernel

Expr = Any


class Operand(ABC):
    """Representation of a convolution's operands.

    Attributes:
        name: The precision.
        dtype: Of a packed lane.
        stored: Of a lane of weights in memory.
        terms: Values of neighbouring channels in one lane.
        filterings: Rows (most taps, fewest lanes, filtering), the best first.
    """

    name: str
    dtype: str
    stored: str
    terms: int
    filterings: tuple[tuple[int, int, Filtering], ...]

    def filtering(self, outputs: int, taps: int) -> Filtering:
        """Return F(outputs, taps), nested if the table nests it."""
        matches = (f for *_, f in self.filterings if (f.outputs, f.taps) == (outputs, taps))
        return next(matches, Filtering(outputs, taps))

    def filtering_by_rule(self, taps: int, lanes: int) -> Filtering:
        """Return the table's filtering for `taps` taps; a layer of more taps repeats the last one."""
        usable = [(max_taps, f) for max_taps, min_lanes, f in self.filterings if lanes >= min_lanes]
        return next((f for max_taps, f in usable if taps <= max_taps), usable[-1][1])

    @abstractmethod
    def pack(self, weight: NDArray[np.float32]) -> np.ndarray:
        """Pack weights (..., channels, columns) to lanes (..., channels / terms, columns)."""

    @abstractmethod
    def instructions(self) -> AbstractContextManager[Any]:
        """Return a context for the code that uses the expressions below."""

    @abstractmethod
    def loop_lanes(self, k: CpuKernel, channels: int, body: Callable[[Expr, int], None]) -> None:
        """Run `body(c, lanes)` for all channels: `terms` vectors of `lanes` channels from `c` on."""

    @abstractmethod
    def round(self, vectors: tuple[Expr, ...]) -> Expr:
        """Round `terms` neighbouring float32 vectors to one vector of packed lanes."""

    @abstractmethod
    def unpack(self, lanes: Expr) -> tuple[Expr, ...]:
        """Return the `terms` float32 vectors whose values the lanes of a vector of weights hold."""

    @abstractmethod
    def pack_vectors(self, vectors: tuple[Expr, ...]) -> Expr:
        """Round and pack `terms` float32 vectors: the inverse of `unpack`."""

    @abstractmethod
    def multiply_add(self, total: Expr, a: Expr, b: Expr) -> Expr:
        """Return total + a . b, the products of every lane's terms."""


class _Float32(Operand):
    name, dtype, stored, terms = "float32", "float32", "float32", 1
    # More points save more products and lose more bits: relative errors of a layer are 5e-7, 6e-6 to 9e-6 and
    # 1.5e-6. They also have more weights, which pages load. Measured on 4 lanes, neither F(8, 7) nor nested
    # filtering pays; on 8 lanes F(8, 7) does.
    filterings: tuple[tuple[int, int, Filtering], ...] = (
        (3, 1, Filtering(6, 3)),
        (7, 8, Filtering(8, 7)),
        (7, 1, Filtering(5, 7)),
        (12, 16, Filtering(2, 2).of(Filtering(6, 6))),
        (12, 1, Filtering(6, 6)),
    )

    def pack(self, weight: NDArray[np.float32]) -> np.ndarray:
        return weight

    def instructions(self) -> AbstractContextManager[Any]:
        return nullcontext()

    def loop_lanes(self, k: CpuKernel, channels: int, body: Callable[[Expr, int], None]) -> None:
        k.vectorize(channels, body)

    def round(self, vectors: tuple[Expr, ...]) -> Expr:
        (vector,) = vectors
        return vector

    def unpack(self, lanes: Expr) -> tuple[Expr, ...]:
        return (lanes,)

    def pack_vectors(self, vectors: tuple[Expr, ...]) -> Expr:
        (vector,) = vectors
        return vector

    def multiply_add(self, total: Expr, a: Expr, b: Expr) -> Expr:
        return total + a * b


class _Float16Weights(_Float32):
    """float32 values times weights that memory holds as float16."""

    name, stored = "float16", "float16"
    # F(8, 7) would magnify the rounding errors of weights as it does those of sums.
    filterings = tuple(row for row in _Float32.filterings if row[2] != Filtering(8, 7))

    def pack(self, weight: NDArray[np.float32]) -> np.ndarray:
        """Cast weights to float16.

        Raises:
            BuildError: A weight exceeds float16.
        """
        if (largest := np.abs(weight).max(initial=0.0)) > np.finfo(np.float16).max:
            raise BuildError(f"float16 holds no weight of {largest}: use a recipe of precision float32")
        return weight.astype(np.float16)


class _Bfloat16(Operand):
    """Pairs of neighbouring channels in int32 lanes, the first one low; see `dot`."""

    name, dtype, stored, terms = "bfloat16", "int32", "int32", 2
    filterings = (
        (3, 1, Filtering(4, 3)),
        (7, 16, Filtering(14, 7, circle=True)),
        (11, 16, Filtering(14, 11, circle=True)),
        (12, 1, Filtering(4, 4)),
    )

    def pack(self, weight: NDArray[np.float32]) -> np.ndarray:
        return pack_pairs(weight[..., 0::2, :], weight[..., 1::2, :])

    def instructions(self) -> AbstractContextManager[Any]:
        return dot.define_bfloat16_instructions()

    def loop_lanes(self, k: CpuKernel, channels: int, body: Callable[[Expr, int], None]) -> None:
        together = self.terms * k.lanes
        if channels < together or channels % self.terms:
            raise ValueError(f"{channels} channels do not fill pairs of vectors of {k.lanes}")
        with k.loop(ceildiv(channels, together)) as i:
            begin = i * together
            # The last pair of vectors may overlap the one before, whose channels it computes again.
            body(k.let(begin if channels % together == 0 else minimum(begin, const(channels - together, k.index_dtype))), k.lanes)

    def round(self, vectors: tuple[Expr, ...]) -> Expr:
        first, second = vectors
        return dot.round_pairs(first, second)

    def unpack(self, lanes: Expr) -> tuple[Expr, ...]:
        return dot.unpack_pairs(lanes)

    def pack_vectors(self, vectors: tuple[Expr, ...]) -> Expr:
        return dot.pack_pairs(*vectors)

    def multiply_add(self, total: Expr, a: Expr, b: Expr) -> Expr:
        return dot.dot_pairs(total, a, b)


FLOAT32: Operand = _Float32()
FLOAT16_WEIGHTS: Operand = _Float16Weights()
BFLOAT16: Operand = _Bfloat16()
OPERANDS: Mapping[str, Operand] = {operand.name: operand for operand in (FLOAT32, FLOAT16_WEIGHTS, BFLOAT16)}
"""By the name that a recipe's `precision` has for them."""
