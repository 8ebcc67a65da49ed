"""AMX tiles: eight registers of 16 rows of 16 lanes for each thread, which multiply pairs of bfloat16.

An instruction names its tiles, so tile numbers are Python integers. A product sums the even and the odd terms
of its 16 pairs separately, each in float32, then adds both to the accumulator. Subnormal numbers count as
zero.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import tvm
from tvm.script.ir_builder import tirx as T

from kokoro_tvm.kernels.base.expressions import const
from kokoro_tvm.kernels.cpu.kernel import CpuKernel

ROWS = 16
LANES = 16  # of 32 bits
# The 64 bytes of the tile configuration, the same for all tiles: palette 1; from byte 16 the bytes of a row,
# as uint16; from byte 48 the rows, as uint8.
_CONFIGURATION = {0: 1, **dict.fromkeys(range(4, 8), 0x00400040), **dict.fromkeys((12, 13), 0x10101010)}

Expr = Any


@contextmanager
def configured(k: CpuKernel) -> Iterator[None]:
    """Configure the tiles for the enclosed code, then release them."""
    # While tiles are in use, every interrupt of the thread saves 8 KB.
    words = k.scratch(16, "int32")
    for i in range(16):
        k.store(words, const(_CONFIGURATION.get(i, 0), "int32"), i)
    _emit("ldtilecfg", tvm.tirx.address_of(words[const(0, "int64")]))
    yield
    _emit("tilerelease")


def clear(tile: int) -> None:
    """Set a tile to zero."""
    _emit("tilezero", _tile_number(tile))


def load(tile: int, buffer: Any, index: tuple[Expr, ...], step: Expr) -> None:
    """Load a tile row by row from an element on, rows `step` elements of 32 bits apart."""
    _emit("tileloadd64", _tile_number(tile), *_memory(buffer, index, step))


def store(tile: int, buffer: Any, index: tuple[Expr, ...], step: Expr) -> None:
    """Store a tile row by row to memory from an element on, rows `step` elements of 32 bits apart."""
    _emit("tilestored64", _tile_number(tile), *_memory(buffer, index, step))


def add_products(total: int, a: int, b: int) -> None:
    """Add to total[row][lane] the sum over pairs p of a[row][p] . b[p][lane]."""
    _emit("tdpbf16ps", _tile_number(total), _tile_number(a), _tile_number(b))


def _memory(buffer: Any, index: tuple[Expr, ...], step: Expr) -> tuple[Expr, Expr]:
    """Return address and row stride in bytes."""
    return tvm.tirx.address_of(buffer[index]), const(4, "int64") * step


def _tile_number(tile: int) -> Expr:
    """Return the number of a tile as AMX's intrinsics take it."""
    return const(tile, "int8")


def _emit(instruction: str, *operands: Expr) -> None:
    """Emit an AMX instruction."""
    T.evaluate(T.call_llvm_intrin("void", f"llvm.x86.{instruction}", *operands))
