"""Measure a CPU's peak rate of multiply-adds, the ceiling of kernels.

The loop does independent multiply-adds in registers. Neither memory nor latency limits it, only the issue
rate and the clock of the cores.
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

_TURN_S = 0.03
_PAIRS = 7


@dataclass(frozen=True)
class Arithmetic:
    """One kind of multiply-add: operands, FLOPs per lane, expression, and context that it needs."""

    operands: NDArray[Any]
    flops: int
    step: Callable[[Any, Any, Any], Any]
    instructions: Callable[[], AbstractContextManager[Any]] = nullcontext


# sum * 0.5 + 1, so that sums stay small.
FLOAT32 = Arithmetic(np.array([0.5, 1], np.float32), 2, lambda total, a, b: total * a + b)


class Loop:
    """The loop for this machine on several threads, timed by `clock`."""

    def __init__(
        self,
        machine: Machine,
        threads: int,
        kind: Arithmetic = FLOAT32,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        lanes = machine.features.lanes
        # More than any core's latency times throughput (12), and few enough not to spill.
        sums = machine.features.registers * 3 // 4
        function = _build_loop(lanes, sums, kind).with_attr("global_symbol", "peak")
        self._call = tvm.compile(tvm.IRModule({"peak": function}), target=tvm_target(machine))["peak"]
        self._operands = tvm.runtime.tensor(kind.operands)
        self._sums = tvm.runtime.tensor(np.zeros((threads, lanes), np.float32))
        self._flops = kind.flops * lanes * sums * threads  # per round
        self._rounds = 100_000
        self._threads, self._clock = threads, clock

    def flops_per_second(self, turns: int = 5) -> float:
        """Return the best rate of a few short turns."""
        use_threads(self._threads)
        while (seconds := self._time_turn()) < _TURN_S / 2:
            self._rounds = int(self._rounds * min(10.0, 1.1 * _TURN_S / max(seconds, 1e-6)))
        return self._flops * self._rounds / min(self._time_turn() for _ in range(turns))

    def _time_turn(self) -> float:
        """Time one turn of the loop."""
        rounds = tvm.runtime.tensor(np.array([self._rounds], np.int64))
        start = self._clock()
        self._call(rounds, self._operands, self._sums)
        return self._clock() - start


def peak_share(compute: Callable[[], object], flops: int, machine: Machine) -> float:
    """Return the FLOP/s of `compute` by those of the loop in float32: the median of pairs in turns.

    Args:
        compute: Runs on one thread.
        flops: FLOPs of `compute`.
        machine: This machine.
    """
    # CPU time of this process: waiting for a core does not count, and a slower core is slower for both.
    loop = Loop(machine, 1, clock=time.process_time)
    compute()  # touches the memory
    shares, before = [], loop.flops_per_second(1)
    for _ in range(_PAIRS):
        start = time.process_time()
        compute()
        seconds = time.process_time() - start
        after = loop.flops_per_second(1)
        shares.append(flops / seconds / ((before + after) / 2))
        before = after
    return median(shares)


def _build_loop(lanes: int, count: int, kind: Arithmetic) -> Any:
    """Build the loop: rounds int64 (1,), operands (2,) -> sums float32 (threads, lanes)."""
    with CpuKernel("peak", lanes) as k:
        rounds = k.param("rounds", (1,), "int64")
        operands = k.param("operands", (2,), str(kind.operands.dtype))
        out = k.param("sums", ("threads", lanes))
        with kind.instructions(), k.parallel(out.shape[0]) as thread:
            a, b = (k.let(k.broadcast(k.load(operands, i), lanes)) for i in (0, 1))
            sums = [k.registers(lanes) for _ in range(count)]
            for i, register in enumerate(sums):
                k.store(register, k.broadcast(const(float(i), "float32"), lanes), 0, lanes=lanes)
            with k.loop(rounds[0]):
                for register in sums:
                    k.store(register, kind.step(k.load(register, 0, lanes=lanes), a, b), 0, lanes=lanes)
            total = k.load(sums[0], 0, lanes=lanes)
            for register in sums[1:]:
                total = total + k.load(register, 0, lanes=lanes)
            k.store(out, total, thread, 0, lanes=lanes)
    return k.build()
