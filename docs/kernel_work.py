"""What a kernel for GPUs does, counted in its TIR: see docs/roofline.py."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tvm import ir, tirx

__all__ = ["Work", "work_of"]

# Instructions that a division of float32 takes where it is rounded correctly, as CUDA has it.
_DIVISION = 8
# Of a multiplication of matrices, 16 x 16 by 16 x 8: a thread's part of a subgroup's.
_MATRIX = 16 * 16 * 8 // 32
_ONE = (tirx.Add, tirx.Sub, tirx.Mul, tirx.Min, tirx.Max, tirx.Select, ir.Call)


@dataclass(frozen=True)
class Work:
    """Of all threads of a launch. instructions: of float32 arithmetic, a multiplication and the addition to
    it being one; words: read from shared memory and through caches, each by each thread; groups: workgroups.

    A branch counts as taken; addresses and comparisons do not count.
    """

    instructions: int
    matrices: int
    words: int
    groups: int


def work_of(kernel: Any, analyzer: Any, least: int) -> Work | None:
    """Of a kernel whose extents the analyzer knows; None where it has no grid yet.

    least: instructions of a kernel with a loop whose length is known on the GPU alone; that loop counts as
    one turn.
    """
    grid: dict[str, int] = {}
    counts, unknown = [0, 0, 0], False
    for statement, times in _statements(kernel.body, 1, analyzer, grid):
        unknown = unknown or times is None
        for i, count in enumerate(_counted(statement)):
            counts[i] += (times or 1) * count
    if not grid:
        return None
    threads = math.prod(grid.values())
    groups = math.prod(extent for tag, extent in grid.items() if tag.startswith("blockIdx"))
    instructions, matrices, words = (threads * count for count in counts)
    return Work(max(instructions, least if unknown else 0), matrices, words, groups)


def _statements(
    statement: Any, times: int | None, analyzer: Any, grid: dict[str, int]
) -> Iterator[tuple[Any, int | None]]:
    """A statement and those within it, and how many times a thread comes to each; None: not known."""
    if isinstance(statement, tirx.AttrStmt) and statement.attr_key == "thread_extent":
        grid[str(statement.node.thread_tag)] = int(analyzer.simplify(statement.value))
    if isinstance(statement, tirx.Bind) and str(statement.var.ty.dtype) == "int32":
        analyzer.bind(statement.var, analyzer.simplify(statement.value))
    if isinstance(statement, tirx.For):
        extent = analyzer.simplify(statement.extent)
        known = times is not None and isinstance(extent, tirx.IntImm)
        times = times * int(extent) if known else None
    yield statement, times
    if isinstance(statement, tirx.SeqStmt):
        parts = list(statement.seq)
    else:
        names = ("body", "then_case", "else_case")
        parts = [part for name in names if (part := getattr(statement, name, None)) is not None]
    for part in parts:
        yield from _statements(part, times, analyzer, grid)


def _counted(statement: Any) -> tuple[int, int, int]:
    """Instructions, those of matrices, and words of what a statement itself evaluates."""
    value = getattr(statement, "value", None)
    if isinstance(statement, tirx.AttrStmt) or value is None:
        return 0, 0, 0
    if isinstance(value, ir.Call) and value.op == ir.Op.get("tirx.cuda.func_call"):
        return 0, _MATRIX, 0
    instructions = words = 0
    for node in _expressions(value):
        if isinstance(node, ir.TensorLoad):
            words += node.source.scope() != "local"
        elif not str(getattr(getattr(node, "ty", None), "dtype", "")).startswith("float32"):
            continue
        elif isinstance(node, tirx.Div):
            instructions += _DIVISION
        elif isinstance(node, _ONE):
            instructions += not _fused(node)
    return instructions, 0, words


def _fused(node: Any) -> bool:
    """Whether it is an addition to a product."""
    return isinstance(node, tirx.Add | tirx.Sub) and any(isinstance(x, tirx.Mul) for x in (node.a, node.b))


def _expressions(expression: Any) -> Iterator[Any]:
    """An expression and those that it is made of, but for indices."""
    yield expression
    names = ("a", "b", "condition", "true_value", "false_value", "value")
    parts = [part for name in names if isinstance(part := getattr(expression, name, None), ir.Expr)]
    for part in (*parts, *getattr(expression, "args", ())):
        yield from _expressions(part)
