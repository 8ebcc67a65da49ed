"""Calls that share a launch: the tensors of a workgroup's own among those of all members (see `LaunchSharing`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from kokoro_tvm.ops.base.expressions import Expr, select
from kokoro_tvm.ops.gpu.kernel import GpuKernel

__all__ = ["MemberBuffer", "own", "weights"]


@dataclass(frozen=True)
class _Part:
    """A tensor within a flat one, from an element on; it is indexed as a buffer is."""

    flat: Any
    start: Expr
    shape: tuple[int, ...]

    def __getitem__(self, index: Expr | tuple[Expr, ...]) -> Expr:
        at: Any = 0
        for extent, i in zip(self.shape, index if isinstance(index, tuple) else (index,), strict=True):
            at = at * extent + i
        return self.flat[self.start + at]


@dataclass(frozen=True)
class MemberBuffer:
    """A buffer among several of equal dtype; number: which, the same for all threads of a workgroup."""

    k: GpuKernel
    buffers: tuple[Any, ...]
    number: Expr

    def extent(self, axis: int) -> Expr:
        """Of the buffer, an int32."""
        *others, found = (self.k.index(buffer.shape[axis]) for buffer in self.buffers)
        for number, other in enumerate(others):
            found = select(self.number == number, other, found)
        return found

    def __getitem__(self, index: tuple[Expr, ...]) -> Expr:
        if len(self.buffers) == 1:
            return self.buffers[0][index]
        kept = self.k.registers(1)
        self._each(lambda buffer: self.k.store(kept, buffer[index], 0))
        return kept[0]

    def store(self, value: Expr, *index: Expr) -> None:
        self._each(lambda buffer: self.k.store(buffer, value, *index))

    def _each(self, body: Callable[[Any], None]) -> None:
        """In branches: the other buffers may be shorter."""
        if len(self.buffers) == 1:
            body(self.buffers[0])
            return
        for number, buffer in enumerate(self.buffers):
            with self.k.when(self.number == number):
                body(buffer)


def own(k: GpuKernel, name: str, shape: Sequence[Expr | str], members: int) -> tuple[Any, ...]:
    """The parameters of a tensor that each member has; what is known at run time of its shape, each knows by
    itself."""
    if members == 1:
        return (k.param(name, shape),)
    return tuple(
        k.param(f"{name}_{m}", [f"{extent}_{m}" if isinstance(extent, str) else extent for extent in shape])
        for m in range(members)
    )


def weights(
    k: GpuKernel, shapes: Mapping[str, tuple[int, ...]], members: int
) -> Callable[[Expr], Sequence[Any]]:
    """The parameters of the weights, or the one that joins those of all members.

    Returns what gives the weights of a member, by its number."""
    if members == 1:
        buffers = [k.param(name, shape) for name, shape in shapes.items()]
        return lambda _: buffers
    sizes = [prod(shape) for shape in shapes.values()]
    joined = k.param("weights", (members * sum(sizes),))

    def of(member: Expr) -> Sequence[Any]:
        first = k.let(member * sum(sizes))
        starts = [first + sum(sizes[:place]) for place in range(len(sizes))]
        return [_Part(joined, start, shape) for start, shape in zip(starts, shapes.values(), strict=True)]

    return of
