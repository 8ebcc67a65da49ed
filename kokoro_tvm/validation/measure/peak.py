"""What a CPU can multiply and add at most: the ceiling that kernels are measured beside.

The loop does nothing but independent multiply-adds from registers to registers: neither memory nor latency
limits it, only what cores can start each cycle at the clock they hold just then.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np
import tvm
from numpy.typing import NDArray

from kokoro_tvm.kernels.base.expressions import const
from kokoro_tvm.kernels.cpu.kernel import CpuKernel
from kokoro_tvm.runtime.session.tvm_runtime import use_threads
from kokoro_tvm.targets import Machine, tvm_target

__all__ = ["FLOAT32", "Arithmetic", "Loop", "peak_share"]

_TURN_S = 0.03
_PAIRS = 7


@dataclass(frozen=True)
class Arithmetic:
    """One kind of multiply-add: operands (bits and dtype), FLOPs a lane, the expression, what it needs."""

    operands: NDArray[Any]
    flops: int
    step: Callable[[Any, Any, Any], Any]
    instructions: Callable[[], AbstractContextManager[Any]] = nullcontext


# sum * 0.5 + 1: sums stay small.
FLOAT32 = Arithmetic(np.array([0.5, 1], np.float32), 2, lambda total, a, b: total * a + b)


class Loop:
    """The loop for a machine, which has to be this one, on `threads` at once; clock: seconds of what."""

    def __init__(
        self,
        machine: Machine,
        threads: int,
        kind: Arithmetic = FLOAT32,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        lanes = machine.features.lanes
        # More than any core's latency times throughput (12), and none of them spills.
        sums = machine.features.registers * 3 // 4
        function = _function(lanes, sums, kind).with_attr("global_symbol", "peak")
        self._call = tvm.compile(tvm.IRModule({"peak": function}), target=tvm_target(machine))["peak"]
        self._operands = tvm.runtime.tensor(kind.operands)
        self._sums = tvm.runtime.tensor(np.zeros((threads, lanes), np.float32))
        self._flops = kind.flops * lanes * sums * threads  # of one round
        self._rounds = 100_000
        self._threads, self._clock = threads, clock

    def flops_per_second(self, turns: int = 5) -> float:
        """The best of a few short turns."""
        use_threads(self._threads)
        while (seconds := self._seconds()) < _TURN_S / 2:
            self._rounds = int(self._rounds * min(10.0, 1.1 * _TURN_S / max(seconds, 1e-6)))
        return self._flops * self._rounds / min(self._seconds() for _ in range(turns))

    def _seconds(self) -> float:
        rounds = tvm.runtime.tensor(np.array([self._rounds], np.int64))
        started = self._clock()
        self._call(rounds, self._operands, self._sums)
        return self._clock() - started


def peak_share(compute: Callable[[], object], flops: int, machine: Machine) -> float:
    """FLOP/s of `compute`, which runs on one thread and does `flops`, over those of the loop in float32.

    Both by the CPU time of this process, turn about, and the median of the pairs. What else the machine runs
    counts for neither: time without a core is not counted, and a core that is slower for it (its other
    thread, its clock) is slower for both.
    """
    loop = Loop(machine, 1, clock=time.process_time)
    compute()  # memory is touched for the first time
    shares, before = [], loop.flops_per_second(1)
    for _ in range(_PAIRS):
        started = time.process_time()
        compute()
        seconds = time.process_time() - started
        after = loop.flops_per_second(1)
        shares.append(flops / seconds / ((before + after) / 2))
        before = after
    return median(shares)


def _function(lanes: int, count: int, kind: Arithmetic) -> Any:
    """rounds int64 (1,), operands (2,) -> sums float32 (threads, lanes), `count` of a thread added up."""
    with CpuKernel("peak", lanes) as k:
        rounds = k.param("rounds", (1,), "int64")
        operands = k.param("operands", (2,), str(kind.operands.dtype))
        out = k.param("sums", ("threads", lanes))
        with kind.instructions(), k.parallel(out.shape[0]) as thread:
            a, b = (k.let(k.broadcast(k.load(operands, i), lanes)) for i in (0, 1))
            sums = [k.registers(lanes) for _ in range(count)]
            for i, each in enumerate(sums):
                k.store(each, k.broadcast(const(float(i), "float32"), lanes), 0, lanes=lanes)
            with k.loop(rounds[0]):
                for each in sums:
                    k.store(each, kind.step(k.load(each, 0, lanes=lanes), a, b), 0, lanes=lanes)
            total = k.load(sums[0], 0, lanes=lanes)
            for each in sums[1:]:
                total = total + k.load(each, 0, lanes=lanes)
            k.store(out, total, thread, 0, lanes=lanes)
    return k.build()
