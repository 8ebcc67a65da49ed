"""What the statistics of every channel are made of, block by block: a pivot, sums about it, and a count."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from kokoro_tvm.ops._kernel import Cast, Kernel, ceildiv, const, minimum
from kokoro_tvm.ops._math import dtype
from kokoro_tvm.ops._semantic import Call, Extent, Shape, semantic_op, valid

__all__ = ["FEWEST_STEPS", "clear_slots", "moments", "slots", "write_slot"]

FEWEST_STEPS = 64
"""Of a block, where there is more than a handful of blocks: bounds how many slots a length needs."""
_SPARE = 16
_BLOCK = 256


def slots(steps: Extent) -> Extent:
    """How many blocks the moments of so many steps have room for."""
    return steps // FEWEST_STEPS + _SPARE


def write_slot(
    k: Kernel, y: Any, slot: Any, c: Any, values: tuple[Any, Any, Any], steps: Any, lanes: int
) -> None:
    """One block's (pivot, sum, sum of squares) of `lanes` channels from `c` on."""
    for i, value in enumerate(values):
        k.store(y, value, slot, i, c, lanes=lanes)
    k.store(y, k.splat(Cast("float32", steps), lanes), slot, 3, c, lanes=lanes)


def clear_slots(k: Kernel, y: Any, first: Any) -> None:
    """Marks the slots from `first` on as empty."""
    with k.loop(y.shape[0] - first) as i:
        k.each(int(y.shape[2]), lambda c, w: k.store(y, const(0.0, dtype(w)), first + i, 3, c, lanes=w))


def _shape(*, x: Shape, **_: Any) -> Shape:
    return (slots(x[1]), 4, x[2])


def _kernel(call: Call) -> Any:
    lanes, channels = call.features.lanes, int(call.shapes["x"][2])
    k = Kernel("moments", lanes)
    with k:
        x = k.param("x", call.shapes["x"])
        length = call.optional(k, "length", "int64")
        y = k.param("y", call.result)
        n = k.let(length[0] if length is not None else k.index(x.shape[1]), "n")
        blocks = k.let(ceildiv(n, _BLOCK), "blocks")
        with k.parallel(blocks) as block:
            start = k.let(block * _BLOCK)
            steps = k.let(minimum(const(_BLOCK, "int64"), n - start))
            with k.when(block == 0):
                clear_slots(k, y, blocks)

            def columns(
                c: Any, width: int, block: Any = block, start: Any = start, steps: Any = steps
            ) -> None:
                def about(pivot: Any) -> tuple[Any, Any]:
                    """Sums of the differences from a pivot and of their squares."""
                    total, squares = k.registers(width), k.registers(width)
                    for register in (total, squares):
                        k.store(register, const(0.0, dtype(width)), 0, lanes=width)
                    with k.loop(steps) as t:
                        value = k.let(k.load(x, 0, start + t, c, lanes=width) - pivot)
                        k.store(total, k.load(total, 0, lanes=width) + value, 0, lanes=width)
                        k.store(squares, k.load(squares, 0, lanes=width) + value * value, 0, lanes=width)
                    return k.load(total, 0, lanes=width), k.load(squares, 0, lanes=width)

                # Twice over what the first-level cache holds: a first step far off the others loses nothing.
                first = k.let(k.load(x, 0, start, c, lanes=width))
                mean = k.let(first + about(first)[0] / k.splat(Cast("float32", steps), width))
                write_slot(k, y, block, c, (mean, *about(mean)), steps, width)

            k.each(channels, columns)
    return k.build()


@semantic_op(shape=_shape, kernel=_kernel)
def moments(x: Tensor, length: Tensor | None = None) -> Tensor:
    """(slots, 4, C): of every block of steps a pivot, the sum of differences from it, the sum of their
    squares, and how many steps there are; 0 marks a slot that holds nothing.

    x (1, T, C); length (1,) int64. Which steps make a block is the kernel's choice, what `adain_coefficients`
    makes of all blocks together is not. Differences from a value of the block itself are exact where values
    are large and close together; the sum of squares alone would lose them.
    """
    steps = valid(x, length)[0]
    y = x.new_zeros(_shape(x=x.shape))
    differences = steps - steps[0]
    y[0] = torch.stack(
        [steps[0], differences.sum(0), (differences**2).sum(0), torch.full_like(steps[0], len(steps))]
    )
    return y
