"""Schedules and generated code."""

from __future__ import annotations

import signal

import numpy as np
import pytest
import torch
import tvm
from tiers import PINNED
from tvm import te

from upstream.support import TVM_ISSUES, UNKNOWN, changed, computed, imported, in_child

pytestmark = [pytest.mark.upstream, PINNED]


def normalised(x: np.ndarray) -> np.ndarray:
    module = imported(torch.nn.functional.instance_norm, torch.from_numpy(x))
    return computed(module, x)


def test_instance_norm_of_a_large_mean_and_a_small_spread() -> None:
    """It takes the variance as E[x^2] - E[x]^2, which is lost to rounding: of two rows, one is NaN."""
    x = (1000.0 + 0.1 * np.random.default_rng(0).standard_normal((1, 2, 64))).astype("float32")
    expected = (x - x.mean(-1, keepdims=True, dtype="float64")) / x.std(-1, keepdims=True, dtype="float64")
    result, issue = normalised(x), f"{TVM_ISSUES}/19592 (the same of layer_norm, which was fixed)"
    assert np.isnan(result).any(), changed("instance_norm loses the variance of a large mean", issue)
    assert np.nanmax(np.abs(result - expected)) > 1, changed("instance_norm is wrong by more than 1", issue)


def test_fused_instance_norm_passes_the_verification_of_llvm() -> None:
    """The seeds' last blocker: debug locations of scalar sums, refused by LLVM 15 and later."""
    x = np.random.default_rng(0).standard_normal((1, 4, 16)).astype("float32")
    gain = torch.full((1, 4, 1), 0.5)

    def block(t: torch.Tensor) -> torch.Tensor:
        y = torch.nn.functional.instance_norm(t + t)
        return torch.nn.functional.leaky_relu(y * gain, 0.2)

    expected = block(torch.from_numpy(x)).numpy()
    module = imported(block, torch.from_numpy(x))
    np.testing.assert_allclose(computed(module, x), expected, atol=1e-4)
    assert tvm.target.codegen.llvm_version_major() >= 15


def test_the_option_for_debugging() -> None:
    with pytest.raises(AttributeError, match=r"Invalid config option 'tir\.enable_debug'"):
        tvm.transform.PassContext(config={"tir.enable_debug": False}).__enter__()
    with tvm.transform.PassContext(config={"tirx.enable_debug": False}) as context:
        assert not context.config["tirx.enable_debug"]


NESTED = """
import signal
import tvm
from tvm import te
from tvm.script.ir_builder import IRBuilder
from tvm.script.ir_builder import tirx as T

def zeroed(depth):
    zero = tvm.tirx.const(0, "int64")
    n, m = tvm.tirx.Var("n", "int64"), tvm.tirx.Var("m", "int64")
    with IRBuilder() as builder, T.prim_func():
        T.func_attr({"global_symbol": "zeroed"})
        x, y = T.arg("x", T.buffer((n,), "float32")), T.arg("y", T.buffer((m,), "float32"))
        with T.serial(zero, n) as i:
            bound = i
            for _ in range(depth):
                block = T.Bind(bound // m)
                bound = T.Bind((block + 1) * n // m - block * n // m)
            with T.serial(zero, bound) as j:
                T.buffer_store(x, y[j], [i])
    return tvm.IRModule({"zeroed": builder.get()})

tvm.compile(zeroed(1), target="llvm")
print("one level compiles", flush=True)
signal.setitimer(signal.ITIMER_PROF, 2)  # seconds of the CPU
tvm.compile(zeroed(2), target="llvm")
"""


def test_bounds_made_of_bounds() -> None:
    """One level takes a tenth of a second; with two, the simplifier does not come back for minutes."""
    process = in_child(NESTED)
    assert process.stdout == "one level compiles\n", process.stderr
    assert process.returncode == -signal.SIGPROF, changed("the simplifier follows bounds made of bounds")


NAMED = """
import signal
import tvm
from tvm.script.ir_builder import IRBuilder
from tvm.script.ir_builder import tirx as T

def powers(depth):
    with IRBuilder() as builder, T.prim_func():
        T.func_attr({"global_symbol": "powers"})
        x = T.arg("x", T.buffer((1,), "float32"))
        value = x[0]
        for _ in range(depth):
            value = T.Bind(value * value + value)
        T.buffer_store(x, value, [0])
    return tvm.IRModule({"powers": builder.get()})

tvm.compile(powers(3), target="llvm")
print("three names compile", flush=True)
signal.setitimer(signal.ITIMER_PROF, 2)  # seconds of the CPU
tvm.compile(powers(30), target="llvm")
"""


def test_values_made_of_values() -> None:
    """A value takes as long as it has places where a name stands, with the names put in: here three times as
    many with every name."""
    process = in_child(NAMED)
    assert process.stdout == "three names compile\n", process.stderr
    assert process.returncode == -signal.SIGPROF, changed("the simplifier puts in the values of names")


METAL = """
import tvm
from tvm import te
from tvm import relax
from tvm.s_tir import dlight

x = relax.Var("x", relax.TensorType([1, tvm.tirx.Var("m", "int64"), 64], "float32"))
w = relax.Var("w", relax.TensorType([64, 64], "float32"))
builder = relax.BlockBuilder()
with builder.function("main", [x, w]):
    with builder.dataflow():
        y = builder.emit_output(relax.op.matmul(x, w))
    builder.emit_func_output(y)
with tvm.target.Target({"kind": "metal", "host": {"kind": "llvm", "mtriple": "arm64-apple-macos"}}):
    module = relax.transform.LegalizeOps()(builder.get())
    print("scheduling", flush=True)
    dlight.ApplyDefaultSchedule(dlight.gpu.Matmul())(module)
"""


@pytest.mark.nightly
def test_matrix_products_for_metal() -> None:
    """The schedule crashes in Tensorize after half a minute; one that works takes a fraction of that."""
    process = in_child(METAL, timeout=600.0)
    assert process.stdout == "scheduling\n", process.stderr
    assert process.returncode == -signal.SIGSEGV, changed("the schedule of matrix products for Metal crashes")


def test_noalias_is_a_function_s_own() -> None:
    """The last function of a module decides for all whether their arguments may overlap."""

    def copy(name: str, noalias: bool) -> tvm.tirx.PrimFunc:
        a = te.placeholder((16,), name="a")
        kernel = te.create_prim_func([a, te.compute((16,), lambda i: a[i] + 1.0, name="b")])
        return kernel.with_attr("global_symbol", name).with_attr("tirx.noalias", noalias)

    def marked(*kernels: tvm.tirx.PrimFunc) -> bool:
        module = tvm.IRModule({str(kernel.attrs["global_symbol"]): kernel for kernel in kernels})
        text = str(tvm.tirx.build(module, tvm.target.Target({"kind": "llvm"})).inspect_source("ll"))
        (line,) = (
            line for line in text.splitlines() if line.startswith("define") and "__tvm_ffi_first(" in line
        )
        return "noalias" in line

    assert marked(copy("first", True))
    assert not marked(copy("first", False))
    result = marked(copy("first", True), copy("last", False))
    assert not result, changed("a module's last function decides about noalias of all", UNKNOWN)


def built(dtype: str, factor: float, target: str) -> str:
    """Source of a kernel that multiplies by a constant."""
    x = te.placeholder((8,), dtype, "x")
    y = te.compute((8,), lambda i: x[i] * tvm.tirx.const(factor, dtype))
    device = tvm.target.Target({"kind": target})
    module = tvm.tirx.build(tvm.IRModule({"f": te.create_prim_func([x, y])}), device)
    pieces, left = [], [module]
    while left:
        item = left.pop()
        left.extend(item.imports)
        if item.kind in ("llvm", "c"):
            pieces.append(item.inspect_source("ll" if target == "llvm" else "c"))
    return "\n".join(pieces)


def test_unsigned_products_wrap() -> None:
    """LLVM may take it for granted that they do not, and do anything where they do."""
    assert "mul nuw" in built("uint32", 3449720151, "llvm"), changed("unsigned arithmetic never wraps")


def test_a_constant_in_c_is_the_constant() -> None:
    """2**-21 has more than seven digits."""
    assert "4.768372e-07f" in built("float32", 2.0**-21, "c"), changed("constants in C have seven digits")
