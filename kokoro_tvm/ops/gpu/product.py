"""One vector times a matrix, summed in pairs of float32, inside a kernel."""

from __future__ import annotations

from typing import Any

from tvm import tirx

from kokoro_tvm.ops.base.expressions import const
from kokoro_tvm.ops.gpu.exact import Exact
from kokoro_tvm.ops.gpu.fold import fold
from kokoro_tvm.ops.gpu.kernel import GpuKernel

__all__ = ["COLUMNS", "THREADS", "product"]

COLUMNS, _SLICES = 32, 8  # of a workgroup: outputs, and parts of the inputs, each of which a thread sums
THREADS = COLUMNS * _SLICES


def product(k: GpuKernel, thread: Any, x: Any, weight: Any, bias: Any, at: Any, output: Any) -> Any:
    """x (1, I) times column `at` of weight (I, ...), plus bias[output], rounded once.

    A workgroup of THREADS computes COLUMNS of them: threads whose number is the same modulo COLUMNS have the
    same column, and all of them get its result.
    """
    exact, sums = Exact(k, thread), k.registers(2)
    for part in range(2):
        k.store(sums, const(0.0, "float32"), part)
    with k.shares(x.shape[1], k.let(tirx.truncdiv(thread, COLUMNS)), _SLICES) as i:
        exact.add_product(sums, k.let(x[0, i]), k.let(weight[i, at]))
    total = fold(k, thread, THREADS, [sums[0], sums[1]], exact.added, COLUMNS)
    return exact.rounded(exact.added((total[0], total[1]), (bias[output], const(0.0, "float32"))))
