"""Tensors of calls that share a launch: each workgroup selects those of its member (see `LaunchSharing`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from kokoro_tvm.kernels.base.expressions import Expr, select
from kokoro_tvm.kernels.gpu.kernel import GpuKernel


@dataclass(frozen=True)
class _Part:
    """A tensor inside a flat one, from element `start` on; indexed like a buffer."""

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
    """The buffer of a workgroup's member among those of all members, which have the same dtype.

    Attributes:
        k: The kernel.
        buffers: Buffers of all members.
        number: The member, the same for all threads of a workgroup.
    """

    k: GpuKernel
    buffers: tuple[Any, ...]
    number: Expr

    def extent(self, axis: int) -> Expr:
        """Return the buffer's extent along an axis, int32."""
        *others, extent = (self.k.index(buffer.shape[axis]) for buffer in self.buffers)
        for number, other in enumerate(others):
            extent = select(self.number == number, other, extent)
        return extent

    def __getitem__(self, index: tuple[Expr, ...]) -> Expr:
        if len(self.buffers) == 1:
            return self.buffers[0][index]
        register = self.k.registers(1)
        self._in_branches(lambda buffer: self.k.store(register, buffer[index], 0))
        return register[0]

    def store(self, value: Expr, *index: Expr) -> None:
        """Write a value to the member's buffer."""
        self._in_branches(lambda buffer: self.k.store(buffer, value, *index))

    def _in_branches(self, body: Callable[[Any], None]) -> None:
        """Run `body` on the member's buffer, in a branch of its own."""
        # Other members' buffers may be shorter, so reading all and selecting is no option.
        if len(self.buffers) == 1:
            body(self.buffers[0])
            return
        for number, buffer in enumerate(self.buffers):
            with self.k.when(self.number == number):
                body(buffer)


def declare_members(k: GpuKernel, name: str, shape: Sequence[Expr | str], members: int) -> tuple[Any, ...]:
    """Declare a tensor of every member; extents known at run time get a name for each member."""
    if members == 1:
        return (k.param(name, shape),)
    return tuple(
        k.param(f"{name}_{m}", [f"{extent}_{m}" if isinstance(extent, str) else extent for extent in shape])
        for m in range(members)
    )


def declare_weights(
    k: GpuKernel, shapes: Mapping[str, tuple[int, ...]], members: int
) -> Callable[[Expr], Sequence[Any]]:
    """Declare the weights, or one tensor that joins those of all members.

    Returns:
        A function from a member's number to its weights.
    """
    if members == 1:
        buffers = [k.param(name, shape) for name, shape in shapes.items()]
        return lambda _: buffers
    sizes = [prod(shape) for shape in shapes.values()]
    joined = k.param("weights", (members * sum(sizes),))

    def of(member: Expr) -> Sequence[Any]:
        """Return a member's weights as views of the tensor that joins all."""
        first = k.let(member * sum(sizes))
        starts = [first + sum(sizes[:place]) for place in range(len(sizes))]
        return [_Part(joined, start, shape) for start, shape in zip(starts, shapes.values(), strict=True)]

    return of
