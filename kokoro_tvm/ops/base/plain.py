"""What decompositions are written with: tensor expressions and loops that any code generator can compile.

They hold no vectors, no threads, no 64-bit floating point, no machine's instructions, and no tensor constants
(TVM 0.27 crashes printing them). A function handed to `emit_te` takes extents from its own arguments, because
`emit_te` renames the symbolic ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from tvm import te, tirx
from tvm.script.ir_builder import IRBuilder
from tvm.script.ir_builder import tirx as T

__all__ = [
    "OPAQUE",
    "choose",
    "f32",
    "in_any_order",
    "logistic",
    "loop",
    "sequential",
    "store",
    "total",
    "valid_steps",
]

Expr = Any
Tensor = Any


def f32(value: float) -> Expr:
    """A float32 constant."""
    return tirx.const(value, "float32")


def logistic(value: Expr) -> Expr:
    """1 / (1 + e**-value)."""
    return f32(1.0) / (f32(1.0) + tirx.exp(f32(0.0) - value))


def choose(condition: Expr, yes: Expr, no: Expr) -> Expr:
    """`yes` or `no`; the other one is not evaluated, so it may read out of bounds."""
    return tirx.if_then_else(condition, yes, no)


def valid_steps(x: Tensor, length: Tensor | None) -> Expr:
    """How many steps of x (1, T, ...) are valid: all where there is no length (1,)."""
    return x.shape[1] if length is None else length[0]


def total(extents: Sequence[Expr], term: Callable[..., Expr]) -> Expr:
    """The sum of `term(i, j, ...)` over the extents."""
    axes = [te.reduce_axis((0, extent), f"k{i}") for i, extent in enumerate(extents)]
    return te.sum(term(*axes), axis=axes)


OPAQUE = {"op_pattern": 8}
"""For `emit_te` of what `sequential` makes: nothing is fused into it, for no analysis sees through it."""


def sequential(
    name: str,
    inputs: Sequence[Tensor],
    outputs: Sequence[tuple[Sequence[Expr], str]],
    body: Callable[..., None],
) -> list[Tensor]:
    """Tensors of the shapes and dtypes `outputs`, filled by loops in the order they are written.

    For recurrences, which tensor expressions cannot say: `body(*inputs, *outputs)` gets buffers and emits
    statements. What is only working memory is an output, too, because not every target can allocate.
    """

    # One block of one iteration, which schedules for GPUs give to one thread.
    return in_any_order(name, inputs, outputs, 1, lambda _, *buffers: body(*buffers))


def in_any_order(
    name: str,
    inputs: Sequence[Tensor],
    outputs: Sequence[tuple[Sequence[Expr], str]],
    count: Expr,
    body: Callable[..., None],
) -> list[Tensor]:
    """The same with `body(i, *inputs, *outputs)` for every i below `count`, at the same time or not."""

    def emitted(ins: Sequence[Any], outs: Sequence[Any]) -> Any:
        with IRBuilder() as builder, T.serial(0, count) as i, T.sblock("loops"):
            place = T.axis.spatial((0, count), i)
            T.reads([buffer[_everything(buffer)] for buffer in ins])
            T.writes([buffer[_everything(buffer)] for buffer in outs])
            body(place, *ins, *outs)
        return builder.get()

    shapes = [list(shape) for shape, _ in outputs]
    # Buffers that start at 0: the offsets TVM would declare are printed in the order of their addresses.
    made = te.extern(
        shapes,
        list(inputs),
        emitted,
        name=name,
        in_buffers=[tirx.decl_buffer(x.shape, x.dtype, x.op.name) for x in inputs],
        out_buffers=[tirx.decl_buffer(shape, dtype, name) for shape, dtype in outputs],
    )
    return list(made) if len(shapes) > 1 else [made]


def _everything(buffer: Any) -> tuple[slice, ...]:
    return tuple(slice(0, extent) for extent in buffer.shape)


@contextmanager
def loop(extent: Expr) -> Iterator[Expr]:
    """Iterations one after another."""
    with T.serial(0, extent) as i:
        yield i


def store(buffer: Any, value: Expr, *index: Expr) -> None:
    """buffer[index] = value."""
    T.buffer_store(buffer, value, list(index))
