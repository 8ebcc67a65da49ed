"""Compensated sums and products, under compilers that treat floating-point numbers as real ones, too."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest
import tvm
import tvm_ffi
from examples import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from kokoro_tvm.kernels.cpu.kernel import CpuKernel
from kokoro_tvm.kernels.gpu.exact import CompensatedArithmetic
from kokoro_tvm.kernels.gpu.kernel import GpuKernel

from .on_gpu import AS_CPP, GPUS, arrays_for, on_gpu
from .support import NATIVE

# Of magnitudes whose errors are normal numbers.
NUMBERS = st.floats(-(2.0**40), 2.0**40, width=32).map(lambda x: x if abs(x) >= 2.0**-40 else 0.0)
COMPILERS = (
    "llvm",
    "llvm fast-math",
    pytest.param("cuda", marks=AS_CPP),
    *(pytest.param(k, marks=pytest.mark.nightly) for k in GPUS if k != "cuda"),
)


class Bare(CompensatedArithmetic):
    """Arithmetic that does not hide intermediate values from the compiler."""

    def _hide(self, value: Any) -> Any:
        return self._k.let(value)


def pairs(k: Any, exact: CompensatedArithmetic, at: Any, inputs: list[Any], outputs: list[Any]) -> None:
    """Return the sum and its error, the product and its error."""
    a, b = (k.let(x[at]) for x in inputs)
    for place, value in zip(outputs, (*exact.two_sum(a, b), *exact.two_product(a, b)), strict=True):
        k.store(place, value, at)


@cache
def compiled(compiler: str, arithmetic: type[CompensatedArithmetic] = CompensatedArithmetic) -> Any:
    on_device = compiler in GPUS
    k = GpuKernel("pairs", GPUS[compiler].features) if on_device else CpuKernel("pairs", 1)
    with k:
        inputs = [k.param(name, ("n",)) for name in "ab"]
        outputs = [k.param(name, ("n",)) for name in ("sum", "rest", "product", "missing")]
        n = outputs[0].shape[0]
        if isinstance(k, GpuKernel):
            with k.launch(32, (n + 31) // 32) as (thread, block):
                at = k.let(block * 32 + thread)
                with k.when(at < n):
                    pairs(k, arithmetic(k, thread), at, inputs, outputs)
        else:
            with k.loop(n) as at:
                pairs(k, arithmetic(k, tvm.tirx.Cast("int32", at % 256)), at, inputs, outputs)
    if on_device:
        return on_gpu(GPUS[compiler], k.build())
    # Metal's compiler is LLVM, and this is what it does unless it is told otherwise.
    fast = {"fast-math": True, "opt-level": 3} if compiler.endswith("fast-math") else {}
    target = tvm.target.Target(NATIVE.target | fast)
    return tvm.compile(tvm.IRModule({"pairs": k.build()}), target=target)["pairs"]


def applied(
    compiler: str,
    a: np.ndarray,
    b: np.ndarray,
    arithmetic: type[CompensatedArithmetic] = CompensatedArithmetic,
) -> list[np.ndarray]:
    function, results = (
        compiled(compiler, arithmetic),
        [np.full(a.shape, np.nan, np.float32) for _ in range(4)],
    )
    if compiler in GPUS:
        function(*arrays_for(function, [a, b]), *results)
    else:
        function(*map(tvm_ffi.from_dlpack, (a, b, *results)))
    return results


@pytest.mark.parametrize("compiler", COMPILERS)
def test_compensated_arithmetic_keeps_rounding_errors(compiler: str) -> None:
    @settings(max_examples=examples(300))
    @given(st.lists(st.tuples(NUMBERS, NUMBERS), min_size=1, max_size=40))
    def holds(numbers: list[tuple[float, float]]) -> None:
        a, b = np.array(numbers, np.float32).T.copy()
        total, rest, product, missing = applied(compiler, a, b)
        assert np.array_equal(total, a + b)
        assert np.array_equal(product, a * b)
        for i, (x, y) in enumerate(numbers):
            assert Fraction(float(total[i])) + Fraction(float(rest[i])) == Fraction(x) + Fraction(y)
            assert Fraction(float(product[i])) + Fraction(float(missing[i])) == Fraction(x) * Fraction(y)

    holds()


def test_compiler_removes_unhidden_rounding_errors() -> None:
    """Prove that this compiler rearranges, so that the other tests can fail."""
    a, b = np.float32([1.0]), np.float32([2.0**-30])
    _, kept, *_ = applied("llvm fast-math", a, b)
    _, lost, *_ = applied("llvm fast-math", a, b, Bare)
    assert (kept[0], lost[0]) == (b[0], 0)
