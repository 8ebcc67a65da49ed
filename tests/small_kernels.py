"""Kernels of a few instructions, to be compiled for other machines; each is parsed on first use."""

from __future__ import annotations

from functools import cache

from tvm.script import tirx as T
from tvm.tirx import PrimFunc

__all__ = ["beyond", "filled", "halved", "scaled"]


@cache
def scaled() -> PrimFunc:
    """Calls the C library, and TVM's threads."""

    @T.prim_func(s_tir=True)
    def kernel(x: T.Buffer((64,), "float32"), y: T.Buffer((64,), "float32")) -> None:
        T.func_attr({"global_symbol": "scaled"})
        for i in T.parallel(64):
            with T.sblock("y"):
                j = T.axis.spatial(64, i)
                y[j] = T.exp(x[j]) * T.float32(3) + x[j]

    return kernel


@cache
def halved() -> PrimFunc:
    """Another function of the same name."""

    @T.prim_func(s_tir=True)
    def kernel(x: T.Buffer((64,), "float32"), y: T.Buffer((64,), "float32")) -> None:
        T.func_attr({"global_symbol": "scaled"})
        for i in T.parallel(64):
            with T.sblock("y"):
                j = T.axis.spatial(64, i)
                y[j] = x[j] * T.float32(0.5)

    return kernel


@cache
def filled() -> PrimFunc:
    """What LLVM makes a call of the C library of where it has one for that, as on macOS."""

    @T.prim_func(s_tir=True)
    def kernel(y: T.Buffer((67,), "float32")) -> None:
        T.func_attr({"global_symbol": "filled"})
        for i in range(67):
            with T.sblock("y"):
                j = T.axis.spatial(67, i)
                y[j] = T.float32(0.1)

    return kernel


@cache
def beyond() -> PrimFunc:
    """Writes one element more than there are."""

    @T.prim_func(s_tir=True)
    def kernel(x: T.Buffer((4,), "float32"), y: T.Buffer((4,), "float32")) -> None:
        T.func_attr({"global_symbol": "beyond"})
        for i in range(5):
            with T.sblock("y"):
                j = T.axis.spatial(5, i)
                y[j] = x[j]

    return kernel
