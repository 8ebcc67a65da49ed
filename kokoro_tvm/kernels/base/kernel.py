"""Builder of a TIR kernel: parameters, values, loops.

`kernels.cpu.kernel` and `kernels.gpu.kernel` add memory and parallelism. A kernel is a `PrimFunc` over raw
loops without schedulable blocks: its author decides tiling and parallelism.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar, Self

import tvm
from tvm.script.ir_builder import IRBuilder
from tvm.script.ir_builder import tirx as T

from kokoro_tvm.kernels.base.expressions import Expr, const


class BaseKernel:
    """Builder of one PrimFunc; parameters are declared in the order of the call, outputs last."""

    index_dtype: ClassVar[str]
    """Of extents, loop variables and indices."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._builder = IRBuilder()

    def __enter__(self) -> Self:
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
        """Return the finished PrimFunc."""
        return self._builder.get()

    def param(self, name: str, shape: Sequence[Expr | str], dtype: str = "float32") -> Any:
        """Declare a tensor parameter; a string in its shape names an extent known at run time."""
        extents = [tvm.tirx.Var(s, self.index_dtype) if isinstance(s, str) else s for s in shape]
        return T.arg(name, T.buffer(extents, dtype, align=4, layout=None, buffer_name=name))

    def let(self, value: Expr, name: str = "") -> Expr:
        """Bind a value to a variable, so that it is computed once."""
        if isinstance(value, int | float):
            return value
        bound = T.Bind(value)
        if name:
            IRBuilder.name(name, bound)
        return bound

    def opaque(self, value: Expr) -> Expr:
        """Bind a value and hide it from TVM's simplifier if the kernel's kind needs that."""
        # The simplifier substitutes the value of a variable at every use. If a value uses another one several
        # times, that takes minutes for a kernel of nested blocks. LLVM sees through what hides it.
        return self.let(value)

    def divmod(self, value: Expr, divisor: Expr) -> tuple[Expr, Expr]:
        """Bind quotient and remainder of nonnegative integers."""
        quotient = self.let(tvm.tirx.truncdiv(value, divisor))
        return quotient, self.let(tvm.tirx.truncmod(value, divisor))

    def real(self, value: float, lanes: int = 1) -> Expr:
        """Return a float32 constant, in every lane."""
        return const(value, "float32" if lanes == 1 else f"float32x{lanes}")

    def nearest(self, value: Expr) -> Expr:
        """Round to the nearest integer, as a float; ties may go either way."""
        return tvm.tirx.nearbyint(value)

    def index(self, value: Expr) -> Expr:
        """Return a value as an index."""
        return const(value, self.index_dtype) if isinstance(value, int) else value

    def load(self, buffer: Any, *index: Expr, lanes: int = 1) -> Expr:
        """Read `lanes` consecutive elements along the last axis."""
        if lanes == 1:
            return buffer[tuple(index)] if len(index) > 1 else buffer[index[0]]
        *outer, last = index
        return buffer[(*outer, tvm.tirx.Ramp(self.index(last), self.index(1), lanes))]

    def store(self, buffer: Any, value: Expr, *index: Expr, lanes: int = 1) -> None:
        """Write `lanes` consecutive elements along the last axis."""
        *outer, last = index
        if lanes > 1:
            last = tvm.tirx.Ramp(self.index(last), self.index(1), lanes)
        T.buffer_store(buffer, value, [*outer, last])

    def accumulate(self, buffer: Any, value: Expr, *index: Expr, lanes: int = 1) -> None:
        """Add a value to `lanes` consecutive elements along the last axis."""
        self.store(buffer, self.load(buffer, *index, lanes=lanes) + value, *index, lanes=lanes)

    @contextmanager
    def loop(self, extent: Expr) -> Iterator[Expr]:
        """Open a serial loop over [0, extent)."""
        with T.serial(self.index(extent)) as i:
            yield i

    @contextmanager
    def when(self, condition: Expr) -> Iterator[None]:
        """Open a block that runs if a condition holds."""
        with T.If(condition), T.Then():
            yield

    def choose(self, condition: Expr, then: Callable[[], None], otherwise: Callable[[], None]) -> None:
        """Emit if/else; both arms are callables that emit statements."""
        with T.If(condition):
            with T.Then():
                then()
            with T.Else():
                otherwise()
