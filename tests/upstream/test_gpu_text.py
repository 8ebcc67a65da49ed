"""The text that TVM prints for GPUs."""

from __future__ import annotations

from typing import Any

import pytest
import tvm
from tiers import PINNED
from tvm.script.ir_builder import IRBuilder
from tvm.script.ir_builder import tirx as T

pytestmark = [pytest.mark.upstream, PINNED]


def text(kind: str, write: Any) -> str:
    """A kernel that stores write(x[i]) in y[i]."""
    with IRBuilder() as builder, T.prim_func():
        T.func_name("f")
        x = T.arg("x", T.buffer((256,), "float32", buffer_name="x"))
        y = T.arg("y", T.buffer((256,), "float32", buffer_name="y"))
        with T.launch_thread("blockIdx.x", 4) as block, T.launch_thread("threadIdx.x", 64) as thread:
            i = block * 64 + thread
            T.buffer_store(y, write(x[i]), [i])
    target = tvm.target.Target(
        {"kind": kind} | ({"arch": "sm_90"} if kind == "cuda" else {}), {"kind": "llvm"}
    )
    module = tvm.tirx.build(tvm.IRModule({"f": builder.get()}), target)
    return str(module.imports[0].inspect_source())


def constant(value: float) -> Any:
    return tvm.tirx.const(value, "float32")


@pytest.mark.parametrize("kind", ["metal", "webgpu"])
def test_a_constant_in_metal_and_wgsl_has_seven_digits(kind: str) -> None:
    assert "1.234568e+00f" in text(kind, lambda x: x * constant(1.23456789))


def test_infinity_is_no_number_of_wgsl() -> None:
    assert "inff" in text("webgpu", lambda x: tvm.tirx.min(x, constant(float("inf"))))


def test_the_address_of_a_constant_in_cuda() -> None:
    one = tvm.tirx.reinterpret("float32", tvm.tirx.const(0x3F800000, "int32"))
    assert "(*(float *)(&(1065353216)))" in text("cuda", lambda x: x + one)


def test_the_guard_of_folded_grids_lets_one_workgroup_too_many_through() -> None:
    assert "> podArgs.packGridDimX) { return; }" in text("webgpu", lambda x: x)


def test_metal_is_told_of_functions_that_it_lacks() -> None:
    assert "nearbyint(" in text("metal", tvm.tirx.nearbyint)
