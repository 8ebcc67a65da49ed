"""Builder of TIR kernels for CPUs: buffers, vectors, threads.

Indices are int64. Buffer parameters promise no alignment beyond one element, so a caller may pass any
contiguous memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import numpy as np
import tvm
from tvm.script.ir_builder import tirx as T

from kokoro_tvm.kernels.base.expressions import Expr, const, lanes_of, minimum
from kokoro_tvm.kernels.base.kernel import BaseKernel

_MAX_STACK = 1024  # bytes

_MAX_TASKS = 64  # of a parallel loop, so at most as many threads share it
# Inlined to one atomic addition. The pool orders the threads' writes, so monotonic order suffices.
_NEXT = """
define i64 @kokoro_next(ptr %counter) alwaysinline nounwind {
  %old = atomicrmw add ptr %counter, i64 1 monotonic
  ret i64 %old
}
"""


class CpuKernel(BaseKernel):
    """Builder of a PrimFunc whose tasks threads share, on vectors of `lanes` float32 values."""

    index_dtype = "int64"

    def __init__(self, name: str, lanes: int) -> None:
        super().__init__(name)
        self.lanes = lanes

    def scratch(self, elements: Expr, dtype: str = "float32") -> Any:
        """Allocate working memory for the enclosing scope, one-dimensional."""
        return T.alloc_buffer((elements,), dtype, layout=None)

    def registers(self, elements: int, dtype: str = "float32") -> Any:
        """Allocate a small array that LLVM keeps in registers; index it with constants only.

        Raises:
            ValueError: The array does not fit registers.
        """
        # TVM leaves an array of "global" scope below a kilobyte on the stack, where LLVM dissolves it. Any
        # other array goes to the workspace, and every access to memory, which is three times slower.
        if elements * np.dtype(dtype).itemsize >= _MAX_STACK:
            raise ValueError(f"{elements} elements of {dtype} do not fit registers")
        return T.alloc_buffer((elements,), dtype, layout=None)

    def table(self, values: np.ndarray) -> Any:
        """Fill a buffer with constants that loops index, row after row."""
        buffer = self.scratch(values.size)
        for i, value in enumerate(values.ravel()):
            self.store(buffer, const(float(value), "float32"), i)
        return buffer

    def opaque(self, value: Expr) -> Expr:
        """Store a value in registers and read it back, so that TVM's simplifier does not see it."""
        value = self.index(value)
        lanes, of = lanes_of(value), str(value.ty.dtype).partition("x")[0]
        # A constant extent is int32; it is stored as an index.
        register = self.registers(lanes, self.index_dtype if of == "int32" else of)
        self.store(register, value, 0, lanes=lanes)
        return self.let(self.load(register, 0, lanes=lanes))

    def prefetch(self, buffer: Any, *index: Expr, level: int = 1) -> None:
        """Prefetch the cache line of an element for reading; the element may lie outside the buffer."""
        read, keep, data = (const(n, "int32") for n in (0, 4 - level, 1))
        address = tvm.tirx.address_of(buffer[tuple(index)])
        T.evaluate(T.call_llvm_intrin("void", "llvm.prefetch.p0", address, read, keep, data))

    def broadcast(self, value: Expr, lanes: int) -> Expr:
        """Return a value in every lane."""
        return value if lanes == 1 else tvm.tirx.Broadcast(value, lanes)

    def broadcast_lane(self, value: Expr, lane: int, lanes: int) -> Expr:
        """Return a lane of a vector, or a scalar, in `lanes` lanes, at most as many as the vector has."""
        if lanes_of(value) == 1:
            return self.broadcast(value, lanes)
        return tvm.tirx.Shuffle([value], [const(lane, "int32")] * lanes)

    @contextmanager
    def threads(self, extent: Expr) -> Iterator[Callable[[], AbstractContextManager[Expr]]]:
        """Let threads share the iterations of a loop.

        Threads claim iterations one by one, so that a delayed thread (another process, a cold cache) holds
        back only the iteration that it has begun. Buffers allocated within belong to a thread. The yielded
        context manager, used once, is the loop over the iterations that the thread claims, in ascending
        order.
        """
        extent = self.let(self.index(extent))
        counter = self.registers(1, "int64")  # on the launching thread's stack, which outlives the launch
        self.store(counter, const(0, "int64"), 0)

        @contextmanager
        def claim() -> Iterator[Expr]:
            """Yield the iterations that this thread claims from the shared counter, until none is left."""
            mine = self.registers(1, "int64")
            address = tvm.tirx.address_of(counter[const(0, "int64")])
            take = tvm.tirx.call_extern("int64", "kokoro_next", address)
            self.store(mine, take, 0)
            with T.While(mine[const(0, "int64")] < extent):
                yield self.let(mine[const(0, "int64")])
                self.store(mine, take, 0)

        with (
            T.attr(0, "pragma_import_llvm", tvm.ir.StringImm(_NEXT)),
            T.parallel(minimum(extent, const(_MAX_TASKS, "int64"))),
        ):
            yield claim

    @contextmanager
    def parallel(self, extent: Expr) -> Iterator[Expr]:
        """Open a loop whose iterations threads share."""
        with self.threads(extent) as claim, claim() as iteration:
            yield iteration

    def vectorize_parallel(self, extent: int, body: Any) -> None:
        """Run `body(position, lanes)` over [0, extent); threads share the whole vectors."""
        whole = extent // self.lanes
        with self.parallel(whole) as i:
            body(i * self.lanes, self.lanes)
        with self.loop(extent - whole * self.lanes) as i:
            body(whole * self.lanes + i, 1)

    def vectorize(self, extent: Expr, body: Any, lanes: int | None = None) -> None:
        """Run `body(position, lanes)` over [0, extent): whole vectors first, then single elements."""
        width = lanes or self.lanes
        whole = self.let(self.index(extent) // width)
        with self.loop(whole) as i:
            body(i * width, width)
        with self.loop(self.index(extent) - whole * width) as i:
            body(whole * width + i, 1)
