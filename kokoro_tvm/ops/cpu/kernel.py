"""A small vocabulary for writing TIR kernels as ordinary Python: buffers, loops, vectors.

A kernel is a `PrimFunc` over raw loops (no schedulable blocks): its author decides tiling, vectors and
parallelism. Indices are int64. Buffer parameters promise no alignment beyond one element, so a caller may
hand in any contiguous memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import tvm
from tvm.script.ir_builder import IRBuilder
from tvm.script.ir_builder import tirx as T

__all__ = [
    "Cast",
    "Kernel",
    "ceildiv",
    "const",
    "floor",
    "iota",
    "lanes_of",
    "logical_and",
    "maximum",
    "minimum",
    "select",
    "sqrt",
]

Cast = tvm.tirx.Cast
floor = tvm.tirx.floor
logical_and = tvm.tirx.And
sqrt = tvm.tirx.sqrt

Expr = Any  # a TIR expression, or a Python number where TIR takes one


def const(value: float | int, dtype: str) -> Expr:
    """A constant of `dtype`, broadcast where the type has lanes."""
    return tvm.tirx.const(value, dtype)


def lanes_of(value: Expr) -> int:
    """How many lanes a value has (1 for a scalar)."""
    return int(tvm.DataType(str(value.ty.dtype)).lanes)


def minimum(a: Expr, b: Expr) -> Expr:
    return min(a, b) if isinstance(a, int) and isinstance(b, int) else tvm.tirx.min(a, b)


def maximum(a: Expr, b: Expr) -> Expr:
    return max(a, b) if isinstance(a, int) and isinstance(b, int) else tvm.tirx.max(a, b)


def ceildiv(a: Expr, b: int) -> Expr:
    """`a / b` rounded up, for a >= 0."""
    return (a + (b - 1)) // b


def select(condition: Expr, yes: Expr, no: Expr) -> Expr:
    """Lane-wise choice; both sides are evaluated."""
    return tvm.tirx.Select(condition, yes, no)


def iota(lanes: int) -> Expr:
    """0, 1, 2, ... in int32 lanes."""
    first = const(0, "int32")
    return first if lanes == 1 else tvm.tirx.Ramp(first, const(1, "int32"), lanes)


_MAX_STACK = 1024  # bytes

_MOST_THREADS = (
    64  # as many may share a loop; a thread runs 64/threads of its iterations, most find nothing to do
)
# Nothing is left of it but one atomic addition; the pool orders what threads write, so no more is needed.
_NEXT = """
define i64 @kokoro_next(ptr %counter) alwaysinline nounwind {
  %old = atomicrmw add ptr %counter, i64 1 monotonic
  ret i64 %old
}
"""


class Kernel:
    """Builds one PrimFunc; parameters are declared in the order of the call, outputs last."""

    def __init__(self, name: str, lanes: int) -> None:
        self.name = name
        self.lanes = lanes
        self._builder = IRBuilder()
        self._stack: list[Any] = []

    def __enter__(self) -> Kernel:
        self._builder.__enter__()
        self._function = T.prim_func()
        self._function.__enter__()
        T.func_name(self.name)
        T.func_attr({"tirx.noalias": True, "op_pattern": 8})  # 8: opaque, no generic fusion into it
        return self

    def __exit__(self, *exc: Any) -> None:
        self._function.__exit__(*exc)
        self._builder.__exit__(*exc)

    def build(self) -> Any:
        """The finished PrimFunc."""
        return self._builder.get()

    # parameters and memory

    def param(self, name: str, shape: Sequence[Expr | str], dtype: str = "float32") -> Any:
        """A tensor parameter; a string in its shape is an extent known at run time."""
        extents = [tvm.tirx.Var(s, "int64") if isinstance(s, str) else s for s in shape]
        return T.arg(name, T.buffer(extents, dtype, align=4, layout=None, buffer_name=name))

    def scratch(self, elements: Expr, dtype: str = "float32") -> Any:
        """Working memory for the enclosing scope, one-dimensional."""
        return T.alloc_buffer((elements,), dtype, layout=None)

    def registers(self, elements: int, dtype: str = "float32") -> Any:
        """A small array that the compiler keeps in registers: one vector or a few, indexed with constants
        only.

        TVM leaves such an array on the stack, where LLVM finds and dissolves it, as long as it is of "global"
        scope and under a kilobyte; any other goes to the workspace, and every access to memory (three times
        slower).
        """
        if elements * np.dtype(dtype).itemsize >= _MAX_STACK:
            raise ValueError(f"{elements} elements of {dtype} do not fit registers")
        return T.alloc_buffer((elements,), dtype, layout=None)

    def table(self, values: np.ndarray) -> Any:
        """Constants that loops index: filled once where it stands, row after row."""
        buffer = self.scratch(values.size)
        for i, value in enumerate(values.ravel()):
            self.store(buffer, const(float(value), "float32"), i)
        return buffer

    # values

    def let(self, value: Expr, name: str = "") -> Expr:
        """Names a value so that it is computed once."""
        if isinstance(value, int | float):
            return value
        bound = T.Bind(value)
        if name:
            IRBuilder.name(name, bound)
        return bound

    def opaque(self, value: Expr) -> Expr:
        """An int64 whose making is hidden from TVM's simplifier, which follows `let` and loses itself where
        one bound is made of another (minutes for a kernel of nested blocks); LLVM sees through it."""
        kept = self.registers(1, "int64")
        self.store(kept, value, 0)
        return self.let(kept[0])

    def index(self, value: Expr) -> Expr:
        """A value as int64 index."""
        return const(value, "int64") if isinstance(value, int) else value

    def load(self, buffer: Any, *index: Expr, lanes: int = 1) -> Expr:
        """`lanes` consecutive elements along the last axis."""
        if lanes == 1:
            return buffer[tuple(index)] if len(index) > 1 else buffer[index[0]]
        *outer, last = index
        return buffer[(*outer, tvm.tirx.Ramp(self.index(last), const(1, "int64"), lanes))]

    def store(self, buffer: Any, value: Expr, *index: Expr, lanes: int = 1) -> None:
        """Writes `lanes` consecutive elements along the last axis."""
        *outer, last = index
        if lanes > 1:
            last = tvm.tirx.Ramp(self.index(last), const(1, "int64"), lanes)
        T.buffer_store(buffer, value, [*outer, last])

    def prefetch(self, buffer: Any, *index: Expr) -> None:
        """Has the cache fetch the line that holds an element, to be read; waits for nothing."""
        read, keep, data = (const(n, "int32") for n in (0, 3, 1))
        address = tvm.tirx.address_of(buffer[tuple(index)])
        T.evaluate(tvm.tirx.call_intrin("void", "tirx.prefetch", address, read, keep, data))

    def splat(self, value: Expr, lanes: int) -> Expr:
        """One value in every lane."""
        return value if lanes == 1 else tvm.tirx.Broadcast(value, lanes)

    def spread(self, value: Expr, lane: int, lanes: int) -> Expr:
        """One lane of a vector, or a scalar, in every lane; at most as many lanes as the vector has."""
        if lanes_of(value) == 1:
            return self.splat(value, lanes)
        return tvm.tirx.Shuffle([value], [const(lane, "int32")] * lanes)

    # control flow

    @contextmanager
    def parallel(self, extent: Expr) -> Iterator[Expr]:
        """A loop whose iterations threads take one by one as they come free, so that one that is held up (by
        another process, by a cold cache) does not keep the others waiting for more than what it has begun."""
        extent = self.let(self.index(extent))
        counter = self.registers(1, "int64")  # on the launching thread's stack, which outlives the launch
        self.store(counter, const(0, "int64"), 0)
        with (
            T.attr(0, "pragma_import_llvm", tvm.ir.StringImm(_NEXT)),
            T.parallel(minimum(extent, const(_MOST_THREADS, "int64"))),
        ):
            mine = self.registers(1, "int64")
            address = tvm.tirx.address_of(counter[const(0, "int64")])
            take = tvm.tirx.call_extern("int64", "kokoro_next", address)
            self.store(mine, take, 0)
            with T.While(mine[const(0, "int64")] < extent):
                yield self.let(mine[const(0, "int64")])
                self.store(mine, take, 0)

    @contextmanager
    def loop(self, extent: Expr) -> Iterator[Expr]:
        with T.serial(self.index(extent)) as i:
            yield i

    @contextmanager
    def when(self, condition: Expr) -> Iterator[None]:
        with T.If(condition), T.Then():
            yield

    def choose(self, condition: Expr, then: Any, otherwise: Any) -> None:
        """if/else; both arms are callables that emit statements."""
        with T.If(condition):
            with T.Then():
                then()
            with T.Else():
                otherwise()

    def each_parallel(self, extent: int, body: Any) -> None:
        """The same with the whole vectors shared out among the threads."""
        whole = extent // self.lanes
        with self.parallel(whole) as i:
            body(i * self.lanes, self.lanes)
        with self.loop(extent - whole * self.lanes) as i:
            body(whole * self.lanes + i, 1)

    def each(self, extent: Expr, body: Any, lanes: int | None = None) -> None:
        """Runs `body(position, lanes)` over [0, extent): whole vectors first, then single elements."""
        width = lanes or self.lanes
        whole = self.let(self.index(extent) // width)
        with self.loop(whole) as i:
            body(i * width, width)
        with self.loop(self.index(extent) - whole * width) as i:
            body(whole * width + i, 1)
