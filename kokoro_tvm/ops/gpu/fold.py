"""What the threads of a workgroup have, combined into one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tvm import tirx

from kokoro_tvm.ops.gpu.kernel import GpuKernel

__all__ = ["fold", "sum_of"]

_AT_ONCE = 4  # threads' values that a thread combines between two barriers

Combine = Callable[[Any, Any], Sequence[Any]]


def fold(
    k: GpuKernel,
    thread: Any,
    threads: int,
    values: Sequence[Any],
    combine: Combine,
    remaining: int = 1,
) -> list[Any]:
    """Every thread's values (float32) combined with those of all threads whose number is the same modulo
    `remaining`; threads of the same remainder get the same bits.

    threads, remaining: powers of two; combine: of two threads' values, in any order. Every thread takes part,
    those whose result nobody needs as well, so that nothing stands in a condition.
    """
    places = [k.shared(threads) for _ in values]
    found = list(values)
    count = threads
    while count > remaining:
        if count < threads:
            k.barrier()
        for place, value in zip(places, found, strict=True):
            k.store(place, value, thread)
        k.barrier()
        group = min(_AT_ONCE, count // remaining)
        count //= group
        first = k.let(tirx.truncmod(thread, count))
        others = [[place[first + i * count] for place in places] for i in range(group)]

        def combined(one: Any, other: Any) -> list[Any]:
            return [k.let(value) for value in combine(one, other)]

        found = [k.let(value) for value in _pairwise(others, combined)]
    return found


def sum_of(values: Sequence[Any]) -> Any:
    """Their sum, pair by pair, which costs the fewest bits."""
    return _pairwise(values, lambda one, other: one + other)


def _pairwise(values: Sequence[Any], combine: Callable[[Any, Any], Any]) -> Any:
    half = len(values) // 2
    if not half:
        return values[0]
    return combine(_pairwise(values[:half], combine), _pairwise(values[half:], combine))
