"""Sums of products in float32 as good as in float64: what is rounded off is kept, and added at the end.

Two-sum (Knuth) and the product split in halves (Dekker) give the error of an operation as a second float. A
compiler that may treat floating-point numbers as real ones (Metal by default, WGSL by its rules) finds that
(a + b) - a is b and the error 0. Three things stand against that:

* Halves are cut off with a mask on the bits, not by multiplying with 4097, so that no algebra undoes it.
* Every product of halves is exact, so that it makes no difference whether it is contracted to a fused
  multiplication and addition.
* Every intermediate result goes through an integer XOR with a zero that no compiler knows to be one (n^3 - n
  is a multiple of 6), so that no expression of two operations is left to be rearranged.
"""

from __future__ import annotations

from typing import Any

import tvm
from tvm import tirx

from kokoro_tvm.ops.base.expressions import const
from kokoro_tvm.ops.gpu.fold import reduce_workgroup
from kokoro_tvm.ops.gpu.kernel import GpuKernel

__all__ = ["COLUMNS", "THREADS", "CompensatedArithmetic", "FloatPair", "product"]

FloatPair = tuple[Any, Any]
"""A float32 and what is missing to the true value, some 2^-24 of it."""

COLUMNS, _SLICES = 32, 8  # of a workgroup: outputs, and parts of the inputs, each of which a thread sums
THREADS = COLUMNS * _SLICES
_UPPER = ~0xFFF  # sign, exponent and 12 of the 24 bits of a float32


class CompensatedArithmetic:
    """Arithmetic of a thread that keeps what rounding takes away.

    thread: its number, below 1024. Exact where errors are no smaller than the smallest normal float32.
    """

    def __init__(self, k: GpuKernel, thread: Any) -> None:
        self._k = k
        zero = k.registers(1, "int32")
        k.store(zero, tirx.truncmod(thread * thread * thread - thread, 6), 0)
        self._zero = zero[0]

    def _hide(self, value: Any) -> Any:
        """The value, rounded to float32 here, and unknown to the compiler from here on."""
        bits = tvm.tirx.reinterpret("int32", self._k.let(value))
        return self._k.let(tvm.tirx.reinterpret("float32", tirx.bitwise_xor(bits, self._zero)))

    def two_sum(self, a: Any, b: Any) -> FloatPair:
        """a + b, rounded, and its error: together exactly a + b."""
        total = self._hide(a + b)
        of_b = self._hide(total - a)
        of_a = self._hide(total - of_b)
        return total, self._hide(self._hide(a - of_a) + self._hide(b - of_b))

    def two_product(self, a: Any, b: Any) -> FloatPair:
        """a * b, rounded, and its error: together exactly a * b."""
        (upper_a, lower_a), (upper_b, lower_b) = self._split(a), self._split(b)
        rounded = self._hide(a * b)
        error = self._hide(upper_a * upper_b - rounded)
        error = self._hide(error + upper_a * lower_b)
        error = self._hide(error + lower_a * upper_b)
        return rounded, self._hide(error + lower_a * lower_b)

    def _split(self, value: Any) -> FloatPair:
        """12 bits each."""
        bits = tvm.tirx.reinterpret("int32", self._k.let(value))
        mask = const(_UPPER, "int32")
        upper = self._k.let(tvm.tirx.reinterpret("float32", tirx.bitwise_and(bits, mask)))
        return upper, self._hide(value - upper)

    def accumulate_product(self, total: Any, a: Any, b: Any) -> None:
        """Adds a * b to a pair in registers (two of them)."""
        rounded, missing = self.two_product(a, b)
        upper, error = self.two_sum(total[0], rounded)
        self._k.store(total, upper, 0)
        self._k.store(total, total[1] + (missing + error), 1)

    def add(self, a: FloatPair, b: FloatPair) -> FloatPair:
        """The sum of two pairs."""
        total, error = self.two_sum(a[0], b[0])
        return total, self._k.let((a[1] + b[1]) + error)

    def round_pair(self, pair: FloatPair) -> Any:
        """The float32 that is nearest to a pair."""
        return self._hide(pair[0] + pair[1])


def product(k: GpuKernel, thread: Any, x: Any, weight: Any, bias: Any, at: Any, output: Any) -> Any:
    """x (1, I) times column `at` of weight (I, ...), plus bias[output], rounded once.

    A workgroup of THREADS computes COLUMNS of them: threads whose number is the same modulo COLUMNS have the
    same column, and all of them get its result.
    """
    exact, sums = CompensatedArithmetic(k, thread), k.zeros(2)
    with k.strided_loop(x.shape[1], k.let(tirx.truncdiv(thread, COLUMNS)), _SLICES) as i:
        exact.accumulate_product(sums, k.let(x[0, i]), k.let(weight[i, at]))
    total = reduce_workgroup(k, thread, THREADS, [sums[0], sums[1]], exact.add, COLUMNS)
    return exact.round_pair(exact.add((total[0], total[1]), (bias[output], const(0.0, "float32"))))
