"""Builder of TIR kernels for GPUs: workgroups, their threads, and the memory they share.

TVM prints a kernel as CUDA, Metal and WGSL, so it uses only what all three have: indices are int32, there is
no float64 and no int64, and every thread of the workgroup reaches each barrier.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np
import tvm
from tvm.script.ir_builder import tirx as T

from kokoro_tvm.common.features import Features
from kokoro_tvm.kernels.base.expressions import Cast, Expr, const
from kokoro_tvm.kernels.base.kernel import BaseKernel

_MOST_REGISTERS = 128  # elements of a thread's array; larger ones go to memory


class GpuKernel(BaseKernel):
    """Builder of a PrimFunc that is one launch: a grid of workgroups whose threads meet at barriers."""

    index_dtype = "int32"

    def __init__(self, name: str, features: Features) -> None:
        super().__init__(name)
        if features.workgroup is None:
            raise ValueError(f"{name}: a GPU kernel needs a machine with workgroups")
        self.limits = features.workgroup
        self._shared_bytes = 0

    def real(self, value: float, lanes: int = 1) -> Expr:
        """Return a float32 constant that is exact to the last bit."""
        # TVM prints seven digits into Metal and WGSL. A constant that they do not identify would double the
        # error of a sine.
        rounded = np.float32(value)
        if np.float32(f"{value:e}") == rounded:
            return super().real(value, lanes)
        bits = self.registers(
            1, "int32"
        )  # a variable, because CUDA's reinterpret, as TVM prints it, takes an address
        self.store(bits, const(int(rounded.view(np.int32)), "int32"), 0)
        return tvm.tirx.reinterpret("float32", bits[0])

    def nearest(self, value: Expr) -> Expr:
        """Round to the nearest integer by operations that all kinds of GPU have."""
        # Metal lacks CUDA's rounding, and WGSL's has another name.
        return tvm.tirx.floor(value + self.real(0.5))

    def let(self, value: Expr, name: str = "") -> Expr:
        """Bind a value so that it is computed once; a float gets a register."""
        # TVM would print a float's expression wherever it is used, and a polynomial of a polynomial would
        # fill pages.
        if isinstance(value, int | float) or not str(value.ty.dtype).startswith("float"):
            return super().let(value, name)
        register = self.registers(1)
        self.store(register, value, 0)
        return register[0]

    def to_float32(self, value: Expr) -> Expr:
        """Cast a float to float32, whatever memory holds it as."""
        return value if str(value.ty.dtype) == "float32" else Cast("float32", value)

    def store(self, buffer: Any, value: Expr, *index: Expr, lanes: int = 1) -> None:
        """Write a value in the buffer's dtype: float32 is rounded to a buffer of float16."""
        if str(buffer.dtype) == "float16":
            value = Cast("float16", value)
        super().store(buffer, value, *index, lanes=lanes)

    def pack_float16(self, first: Expr, second: Expr) -> Expr:
        """Pack two floats as float16 in a word of int32."""
        both = self.registers(2, "float16")
        for i, value in enumerate((first, second)):
            self.store(both, value, i)
        return tvm.tirx.reinterpret("int32", both[T.ramp(0, 1, 2)])

    def multiply_matrices(self, sums: Any, at: int, a: Any, b: Any, b_at: int) -> None:
        """Add a (16, 16) @ b (16, 8) to a subgroup's sums (16, 8), float16 to float32 (mma.m16n8k16).

        All lanes must call it. A lane holds two neighbouring elements in a word, from column `2 * (lane % 4)`
        on: of `a` rows `lane // 4` and 8 later, then both 8 columns later; of `b` transposed, in two words
        from `b_at` on, row `lane // 4` and 8 columns later. Its sums, in four registers from `at` on, are
        those of `a`'s two rows.
        """
        addresses = (T.address_of(sums[at]), T.address_of(a[0]), T.address_of(b[b_at]))
        T.evaluate(
            tvm.tirx.call_intrin(
                "void",
                "tirx.cuda.func_call",
                "multiply_m16n8k16",
                *addresses,
                "#include <multiply_matrices.h>\n",
            )
        )

    @contextmanager
    def launch(self, threads: int, *grid: Expr) -> Iterator[tuple[Expr, ...]]:
        """Open the body of the kernel.

        Args:
            threads: Threads of a workgroup.
            *grid: Workgroups along one to three axes.

        Yields:
            The thread's number in its workgroup, then the workgroup's along each axis.

        Raises:
            ValueError: A workgroup has no room for so many threads.
        """
        if not 1 <= threads <= self.limits.threads:
            raise ValueError(f"{self.name}: {threads} threads, a workgroup has at most {self.limits.threads}")
        with ExitStack() as stack:
            axes = [
                stack.enter_context(T.launch_thread(f"blockIdx.{axis}", self.index(extent)))
                for axis, extent in zip("xyz", grid, strict=False)
            ]
            thread = stack.enter_context(T.launch_thread("threadIdx.x", threads))
            yield thread, *axes

    def shared(self, elements: int, dtype: str = "float32") -> Any:
        """Allocate memory that the threads of a workgroup share, without initializing it.

        Raises:
            ValueError: The kernel exceeds the workgroup's shared memory.
        """
        self._shared_bytes += elements * tvm.DataType(dtype).itemsize
        if self._shared_bytes > self.limits.shared_bytes:
            raise ValueError(
                f"{self.name}: {self._shared_bytes} bytes of shared memory, a workgroup has at most "
                f"{self.limits.shared_bytes}"
            )
        return T.alloc_buffer((elements,), dtype, scope="shared", layout=None)

    def registers(self, elements: int, dtype: str = "float32") -> Any:
        """Allocate a small array of a thread; index it with constants only, so that it stays in registers.

        Raises:
            ValueError: The array does not fit registers.
        """
        if elements > _MOST_REGISTERS:
            raise ValueError(f"{self.name}: {elements} elements do not fit registers")
        return T.alloc_buffer((elements,), dtype, scope="local", layout=None)

    def zeros(self, elements: int = 1) -> Any:
        """Allocate float32 registers and set them to 0."""
        zeros = self.registers(elements)
        for at in range(elements):
            self.store(zeros, const(0.0, "float32"), at)
        return zeros

    def barrier(self) -> None:
        """Make every thread of the workgroup wait for all others and see their writes to shared memory."""
        T.evaluate(tvm.tirx.call_intrin("int32", "tirx.tvm_storage_sync", "shared"))

    @contextmanager
    def strided_loop(self, extent: Expr, thread: Expr, threads: int) -> Iterator[Expr]:
        """Open a loop over [0, extent) in which each thread takes every `threads`-th index.

        The last round is guarded, so there must be no barrier inside.
        """
        with self.loop((self.index(extent) + (threads - 1)) // threads) as turn:
            number = self.let(turn * threads + thread)
            with self.when(number < extent):
                yield number
