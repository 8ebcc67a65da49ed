"""How fast this machine multiplies and adds: `python -m kokoro_tvm.bench.peak`, the ceiling for every kernel.

The loop does nothing but independent multiply-adds from registers to registers, on all threads at once:
neither memory nor latency limits it, only what cores can start each cycle at the clock they hold just then.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
import tvm
from numpy.typing import NDArray

from kokoro_tvm.bench.serve import serve
from kokoro_tvm.ops.base.expressions import const
from kokoro_tvm.ops.cpu.kernel import Kernel
from kokoro_tvm.ops.cpu.operand import BFLOAT16
from kokoro_tvm.runtime.tvm_runtime import use_threads
from kokoro_tvm.targets import Machine, tvm_target
from kokoro_tvm.targets.llvm import native

__all__ = ["Meter", "main"]

_TURN_S = 0.03
_TURNS = 5


@dataclass(frozen=True)
class _Arithmetic:
    """One kind of multiply-add: operands (bits and dtype), FLOPs a lane, the expression, what it needs."""

    operands: NDArray[Any]
    flops: int
    step: Callable[[Any, Any, Any], Any]
    instructions: Callable[[], AbstractContextManager[Any]] = nullcontext


# sum * 0.5 + 1: sums stay small.
_FLOAT32 = _Arithmetic(np.array([0.5, 1], np.float32), 2, lambda total, a, b: total * a + b)
# sum + 0.5 * 0.5 + 0.5 * 0.5, four FLOPs.
_BFLOAT16 = _Arithmetic(np.full(2, 0x3F003F00, np.int32), 4, BFLOAT16.multiply_add, BFLOAT16.instructions)


class Meter:
    """Measures FLOP/s by precision: "float32", and "bfloat16" (float32 sums) where the CPU multiplies it."""

    def __init__(self, threads: int) -> None:
        machine = native()
        self._threads = threads
        kinds = {"float32": _FLOAT32}
        if "avx512bf16" in machine.required:
            kinds["bfloat16"] = _BFLOAT16
        self._loops = {precision: _Loop(machine, threads, kind) for precision, kind in kinds.items()}

    def measure(self) -> dict[str, float]:
        """FLOP/s of all threads together, the best of a few short turns."""
        use_threads(self._threads)
        return {precision: loop.flops_per_second() for precision, loop in self._loops.items()}


class _Loop:
    def __init__(self, machine: Machine, threads: int, kind: _Arithmetic) -> None:
        lanes = machine.features.lanes
        # More than any core's latency times throughput (12), and none of them spills.
        sums = machine.features.registers * 3 // 4
        function = _function(lanes, sums, kind).with_attr("global_symbol", "peak")
        self._call = tvm.compile(tvm.IRModule({"peak": function}), target=tvm_target(machine))["peak"]
        self._operands = tvm.runtime.tensor(kind.operands)
        self._sums = tvm.runtime.tensor(np.zeros((threads, lanes), np.float32))
        self._flops = kind.flops * lanes * sums * threads  # of one round
        self._rounds = 100_000

    def flops_per_second(self) -> float:
        while (seconds := self._seconds()) < _TURN_S / 2:
            self._rounds = int(self._rounds * min(10.0, 1.1 * _TURN_S / seconds))
        return self._flops * self._rounds / min(self._seconds() for _ in range(_TURNS))

    def _seconds(self) -> float:
        rounds = tvm.runtime.tensor(np.array([self._rounds], np.int64))
        started = time.perf_counter()
        self._call(rounds, self._operands, self._sums)
        return time.perf_counter() - started


def _function(lanes: int, count: int, kind: _Arithmetic) -> Any:
    """rounds int64 (1,), operands (2,) -> sums float32 (threads, lanes), `count` of a thread added up."""
    with Kernel("peak", lanes) as k:
        rounds = k.param("rounds", (1,), "int64")
        operands = k.param("operands", (2,), str(kind.operands.dtype))
        out = k.param("sums", ("threads", lanes))
        with kind.instructions(), k.parallel(out.shape[0]) as thread:
            a, b = (k.let(k.splat(k.load(operands, i), lanes)) for i in (0, 1))
            sums = [k.registers(lanes) for _ in range(count)]
            for i, each in enumerate(sums):
                k.store(each, k.splat(const(float(i), "float32"), lanes), 0, lanes=lanes)
            with k.loop(rounds[0]):
                for each in sums:
                    k.store(each, kind.step(k.load(each, 0, lanes=lanes), a, b), 0, lanes=lanes)
            total = k.load(sums[0], 0, lanes=lanes)
            for each in sums[1:]:
                total = total + k.load(each, 0, lanes=lanes)
            k.store(out, total, thread, 0, lanes=lanes)
    return k.build()


def main() -> None:
    meters: list[Meter] = []

    def answer(request: dict[str, Any]) -> dict[str, Any]:
        if meters:
            return meters[0].measure()
        meters.append(Meter(request["threads"]))
        return {}

    serve(answer)


if __name__ == "__main__":
    main()
