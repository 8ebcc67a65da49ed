"""What the threads of a workgroup have, combined into one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tvm import tirx

from kokoro_tvm.ops.gpu.kernel import GpuKernel

__all__ = ["fold"]


def fold(
    k: GpuKernel,
    thread: Any,
    threads: int,
    values: Sequence[Any],
    combine: Callable[[Any, Any], Sequence[Any]],
    remaining: int = 1,
) -> list[Any]:
    """Every thread's values (float32) combined with those of all threads whose number is the same modulo
    `remaining`; threads of the same remainder get the same bits.

    threads, remaining: powers of two; combine: of two threads' values, in any order. Every thread takes part,
    those whose result nobody needs as well, so that nothing stands in a condition.
    """
    places = [k.shared(threads) for _ in values]
    for place, value in zip(places, values, strict=True):
        k.store(place, value, thread)
    count = threads
    while count > remaining:
        count //= 2
        k.barrier()
        other = k.let(tirx.truncmod(thread + count, threads))
        mine, theirs = ([k.let(place[at]) for place in places] for at in (thread, other))
        combined = [k.let(value) for value in combine(mine, theirs)]
        k.barrier()
        for place, value in zip(places, combined, strict=True):
            k.store(place, value, thread)
    k.barrier()
    return [k.let(place[tirx.truncmod(thread, remaining)]) for place in places]
