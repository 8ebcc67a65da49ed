"""Kernels of a few instructions, to be compiled for other machines."""

from __future__ import annotations

from tvm.script import tirx as T

__all__ = ["beyond", "filled", "halved", "scaled"]


@T.prim_func(s_tir=True)
def scaled(x: T.Buffer((64,), "float32"), y: T.Buffer((64,), "float32")) -> None:
    """Calls the C library, and TVM's threads."""
    T.func_attr({"global_symbol": "scaled"})
    for i in T.parallel(64):
        with T.sblock("y"):
            j = T.axis.spatial(64, i)
            y[j] = T.exp(x[j]) * T.float32(3) + x[j]


@T.prim_func(s_tir=True)
def halved(x: T.Buffer((64,), "float32"), y: T.Buffer((64,), "float32")) -> None:
    """Another function of the same name."""
    T.func_attr({"global_symbol": "scaled"})
    for i in T.parallel(64):
        with T.sblock("y"):
            j = T.axis.spatial(64, i)
            y[j] = x[j] * T.float32(0.5)


@T.prim_func(s_tir=True)
def filled(y: T.Buffer((67,), "float32")) -> None:
    """What LLVM makes a call of the C library of where it has one for that, as on macOS."""
    T.func_attr({"global_symbol": "filled"})
    for i in range(67):
        with T.sblock("y"):
            j = T.axis.spatial(67, i)
            y[j] = T.float32(0.1)


@T.prim_func(s_tir=True)
def beyond(x: T.Buffer((4,), "float32"), y: T.Buffer((4,), "float32")) -> None:
    """Writes one element more than there are."""
    T.func_attr({"global_symbol": "beyond"})
    for i in range(5):
        with T.sblock("y"):
            j = T.axis.spatial(5, i)
            y[j] = x[j]
