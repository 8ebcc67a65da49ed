"""Compensated float32 arithmetic: sums of products as accurate as in float64.

Two-sum (Knuth) and the product of split halves (Dekker) return the rounding error of an operation as a second
float. A compiler that may treat floating-point numbers as real ones (Metal by default, WGSL by its rules)
finds that (a + b) - a is b and the error 0. Three measures prevent that:

* A mask on the bits splits a float, not a multiplication by 4097, so that no algebra undoes it.
* Every product of halves is exact, so that contraction to a fused multiply-add changes nothing.
* Every intermediate result is XORed, as an integer, with a zero that no compiler knows to be one (n^3 - n is
  a multiple of 6), so that no expression of two operations is left to rearrange.
"""

from __future__ import annotations

from typing import Any

import tvm
from tvm import tirx

from kokoro_tvm.kernels.base.expressions import const
from kokoro_tvm.kernels.gpu.fold import reduce_workgroup
from kokoro_tvm.kernels.gpu.kernel import GpuKernel

FloatPair = tuple[Any, Any]
"""A float32 and its error, some 2^-24 of it."""

COLUMNS, _SLICES = 32, 8  # of a workgroup: outputs, and slices of the inputs
THREADS = COLUMNS * _SLICES
_UPPER = ~0xFFF  # sign, exponent and 12 of the 24 bits of a float32


class CompensatedArithmetic:
    """Float-float arithmetic of a thread, which keeps rounding errors.

    Exact if errors are no smaller than the smallest normal float32. The constructor's `thread` is the
    thread's number, below 1024.
    """

    def __init__(self, k: GpuKernel, thread: Any) -> None:
        self._k = k
        zero = k.registers(1, "int32")
        k.store(zero, tirx.truncmod(thread * thread * thread - thread, 6), 0)
        self._zero = zero[0]

    def _hide(self, value: Any) -> Any:
        """Round a value to float32 here and hide it from the compiler."""
        bits = tvm.tirx.reinterpret("int32", self._k.let(value))
        return self._k.let(tvm.tirx.reinterpret("float32", tirx.bitwise_xor(bits, self._zero)))

    def two_sum(self, a: Any, b: Any) -> FloatPair:
        """Return a + b, rounded, and its error; their sum is exactly a + b."""
        total = self._hide(a + b)
        of_b = self._hide(total - a)
        of_a = self._hide(total - of_b)
        return total, self._hide(self._hide(a - of_a) + self._hide(b - of_b))

    def two_product(self, a: Any, b: Any) -> FloatPair:
        """Return a * b, rounded, and its error; their sum is exactly a * b."""
        (upper_a, lower_a), (upper_b, lower_b) = self._split(a), self._split(b)
        rounded = self._hide(a * b)
        error = self._hide(upper_a * upper_b - rounded)
        error = self._hide(error + upper_a * lower_b)
        error = self._hide(error + lower_a * upper_b)
        return rounded, self._hide(error + lower_a * lower_b)

    def _split(self, value: Any) -> FloatPair:
        """Split a float32 into two 12-bit halves."""
        bits = tvm.tirx.reinterpret("int32", self._k.let(value))
        mask = const(_UPPER, "int32")
        upper = self._k.let(tvm.tirx.reinterpret("float32", tirx.bitwise_and(bits, mask)))
        return upper, self._hide(value - upper)

    def accumulate_product(self, total: Any, a: Any, b: Any) -> None:
        """Add a * b to a pair in registers (two of them)."""
        rounded, missing = self.two_product(a, b)
        upper, error = self.two_sum(total[0], rounded)
        self._k.store(total, upper, 0)
        self._k.accumulate(total, missing + error, 1)

    def add(self, a: FloatPair, b: FloatPair) -> FloatPair:
        """Return the sum of two pairs."""
        total, error = self.two_sum(a[0], b[0])
        return total, self._k.let((a[1] + b[1]) + error)

    def round_pair(self, pair: FloatPair) -> Any:
        """Return the float32 nearest to a pair."""
        return self._hide(pair[0] + pair[1])


def product(k: GpuKernel, thread: Any, x: Any, weight: Any, bias: Any, at: Any, output: Any) -> Any:
    """Multiply x (1, I) by column `at` of weight (I, ...), add bias[output] and round once.

    A workgroup of THREADS computes COLUMNS of them. Threads with the same number modulo COLUMNS have the same
    column, and all get its result.
    """
    exact, sums = CompensatedArithmetic(k, thread), k.zeros(2)
    with k.strided_loop(x.shape[1], k.let(tirx.truncdiv(thread, COLUMNS)), _SLICES) as i:
        exact.accumulate_product(sums, k.let(x[0, i]), k.let(weight[i, at]))
    total = reduce_workgroup(k, thread, THREADS, [sums[0], sums[1]], exact.add, COLUMNS)
    return exact.round_pair(exact.add((total[0], total[1]), (bias[output], const(0.0, "float32"))))
