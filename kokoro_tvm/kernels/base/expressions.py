"""TIR expressions that kernels for CPUs and GPUs share."""

from __future__ import annotations

from typing import Any

import tvm

Cast = tvm.tirx.Cast
floor = tvm.tirx.floor
logical_and = tvm.tirx.And
sqrt = tvm.tirx.sqrt

Expr = Any  # a TIR expression, or a Python number where TIR takes one


def const(value: float | int, dtype: str) -> Expr:
    """Return a constant of `dtype`, broadcast if the dtype has lanes."""
    return tvm.tirx.const(value, dtype)


def lanes_of(value: Expr) -> int:
    """Return the number of lanes of a value, 1 for a scalar."""
    return int(tvm.DataType(str(value.ty.dtype)).lanes)


def minimum(a: Expr, b: Expr) -> Expr:
    """Return the smaller of two values: a Python int if both are, else a TIR expression."""
    return min(a, b) if isinstance(a, int) and isinstance(b, int) else tvm.tirx.min(a, b)


def maximum(a: Expr, b: Expr) -> Expr:
    """Return the larger of two values: a Python int if both are, else a TIR expression."""
    return max(a, b) if isinstance(a, int) and isinstance(b, int) else tvm.tirx.max(a, b)


def ceildiv(a: Expr, b: int) -> Expr:
    """Return `a / b` rounded up, for a >= 0."""
    return (a + (b - 1)) // b


def select(condition: Expr, yes: Expr, no: Expr) -> Expr:
    """Choose lane by lane; both sides are evaluated."""
    return tvm.tirx.Select(condition, yes, no)


def nan_or_zero(value: Expr) -> Expr:
    """Return NaN if the float32 value is NaN, else 0."""
    # Code that computes in integers loses a NaN; adding this to its result restores it.
    return select(value < const(3.0e38, "float32"), const(0.0, "float32"), value)


def iota(lanes: int) -> Expr:
    """Return 0, 1, 2, ... in int32 lanes."""
    first = const(0, "int32")
    return first if lanes == 1 else tvm.tirx.Ramp(first, const(1, "int32"), lanes)
