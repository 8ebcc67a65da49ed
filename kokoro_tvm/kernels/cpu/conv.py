"""Convolution kernels for CPUs: register tiles of products over a block of transformed input.

Activations are channels-last. Time is cut into blocks. Each block activates and transforms the rows that it
reads once; rows outside the valid part are zero, so that edges, short lengths and lengths known only at run
time need no special case. A tile of rows x output channels stays in registers over all input channels and
taps, point by point, and is transformed back. Plain convolution has one point. A stride becomes more input
channels, a transposed convolution more output channels, so that one inner loop serves all three.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import partial
from typing import Any

from kokoro_tvm.kernels.base.expressions import ceildiv, const, logical_and, maximum, minimum, select
from kokoro_tvm.kernels.base.filtering import DIRECT, transforms
from kokoro_tvm.kernels.base.math import dtype
from kokoro_tvm.kernels.base.points import forward, forward_together, inverse
from kokoro_tvm.kernels.cpu import amx
from kokoro_tvm.kernels.cpu.activation import Activation
from kokoro_tvm.kernels.cpu.conv_plan import ConvPlan
from kokoro_tvm.kernels.cpu.factors import ConvWeights
from kokoro_tvm.kernels.cpu.kernel import CpuKernel
from kokoro_tvm.kernels.moments import clear_slots, emit_block_moments

_TASKS = 8  # with enough work, tasks are a multiple of this, so that 2, 4 or 8 threads share them
_MANY_TASKS = 16  # of layers with enough columns, whatever the length
_AHEAD = 4  # rows prefetched: the steps of a channel lie too far apart for the hardware's prefetcher

Expr = Any


class ConvInput:
    """Input of a convolution: x (1, T, C), valid up to `valid_steps`, its activation and its stride."""

    def __init__(self, x: Any, valid_steps: Expr, activation: Activation, stride: int = 1) -> None:
        self.x, self.valid_steps, self.activation, self.stride = x, valid_steps, activation, stride
        self.channels = int(x.shape[2])


class ConvOutput:
    """Writer of results: y (1, T, C) = gain * (value + bias + residual) + added.

    A step of the residual counts for `repeat` steps of the result.
    """

    def __init__(
        self,
        k: CpuKernel,
        y: Any,
        bias: Any | None,
        residual: Any | None,
        gain: float = 1.0,
        repeat: int = 1,
        added: Any | None = None,
    ) -> None:
        self._k, self._y, self._bias, self._residual, self._gain = k, y, bias, residual, gain
        self._repeat, self._added = repeat, added
        self.channels = int(y.shape[2])

    def put(self, step: Expr, c: Expr, value: Expr, lanes: int) -> None:
        """Write `lanes` channels of a step from `c` on."""
        k = self._k
        if self._bias is not None:
            value = value + k.load(self._bias, c, lanes=lanes)
        if self._residual is not None:
            at = step if self._repeat == 1 else step // self._repeat
            value = value + k.load(self._residual, 0, at, c, lanes=lanes)
        if self._gain != 1.0:
            value = value * const(self._gain, dtype(lanes))
        if self._added is not None:
            value = value + k.load(self._added, 0, step, c, lanes=lanes)
        k.store(self._y, value, 0, step, c, lanes=lanes)

    def put_some(self, step: Expr, c: Expr, value: Expr, lanes: int) -> None:
        """Write up to `lanes` channels of a step from `c` on: those that exist."""
        k = self._k
        if self.channels % lanes == 0:
            with k.when(c < self.channels):
                self.put(step, c, value, lanes)
            return

        def single() -> None:
            """Write the channels one by one."""
            spread = k.registers(lanes)
            k.store(spread, value, 0, lanes=lanes)
            for lane in range(lanes):
                with k.when(c + lane < self.channels):
                    self.put(step, c + lane, spread[lane], 1)

        k.choose(c + lanes <= self.channels, lambda: self.put(step, c, value, lanes), single)


def emit(
    k: CpuKernel,
    plan: ConvPlan,
    weight: Any,
    source: ConvInput,
    origin: int,
    steps: Expr,
    write: Callable[[Expr, Expr, Expr, int], None],
    shift: Callable[[Expr], Expr] | None = None,
    moments: tuple[Any, Any] | None = None,
) -> None:
    """Emit the loops of a convolution.

    Args:
        k: The kernel.
        plan: Sizes of the convolution.
        weight: Packed by `conv_plan.packing`.
        source: The input.
        origin: Input step (before the stride is folded) that the first tap of the first result reads.
        steps: How many results a convolution of stride 1 yields in time.
        write: Called as write(step, column, value, lanes).
        shift: Returns the rows by which a column block starts later, for transposed convolution.
        moments: The buffer that `write` fills, and that of its moments, block by block; see
        `kernels.moments`.
    """
    spare = 1 if shift is not None and not plan.transforms_weights else 0
    pitch = plan.tiles * plan.rows + plan.halo + spare  # rows of scratch
    matrix = k.table(transforms(plan.filtering).weight) if plan.transforms_weights else None
    tiles = k.opaque(ceildiv(steps, plan.tile_steps))
    block_count = k.opaque(ceildiv(tiles, plan.tiles))
    # Wide layers and layers of one tap have enough columns to split, and read their weights once for all rows
    # of a block. Four blocks, not three, divide evenly among threads.
    even = ceildiv(block_count, _TASKS) * _TASKS
    if plan.taps == 1 or plan.wide:
        few = select(block_count == 3, const(4, "int64"), block_count)
        even = select(block_count < 5, few, even)
        blocks = k.opaque(select(tiles >= even, even, block_count))
    else:
        blocks = k.opaque(select(tiles >= _TASKS, even, tiles))
    # If time alone gives too few tasks, tasks split the column blocks as well.
    tasks = _MANY_TASKS if plan.taps == 1 or plan.wide or plan.phases > 1 else _TASKS
    parts = minimum(
        ceildiv(const(tasks, "int64"), maximum(blocks, const(1, "int64"))),
        const(plan.column_blocks, "int64"),
    )
    split = k.opaque(select(blocks < tasks, parts, const(1, "int64")))
    with plan.operand.instructions(), k.threads(blocks * split) as claim:
        signal = k.scratch(plan.filtering.points * pitch * plan.row_floats, plan.operand.dtype)
        products = k.scratch(plan.filtering.points * plan.tiles * plan.rows * plan.columns)
        factors = ConvWeights(k, plan, weight, matrix)
        filled_block = k.registers(1, k.index_dtype)  # the block that the signal holds
        k.store(filled_block, const(-1, k.index_dtype), 0)
        with claim() as task, amx.configured(k) if plan.tiles_multiply else nullcontext():
            block = k.opaque(task // split)
            part = k.opaque(task - block * split)
            first_tile = k.opaque(block * tiles // blocks)
            own_tiles = k.opaque((block + 1) * tiles // blocks - first_tile)
            start = k.opaque(first_tile * plan.tile_steps)
            rows = k.opaque(own_tiles * plan.rows)
            remaining = k.opaque(steps - start)
            with k.when(block != filled_block[0]):  # else another task of this thread has filled it
                begin = start * source.stride + origin
                _fill(k, plan, source, signal, pitch, begin, rows + (plan.halo + spare))
                k.store(filled_block, block, 0)
            first_column = k.opaque(part * plan.column_blocks // split)
            last_column = k.opaque((part + 1) * plan.column_blocks // split)
            with k.loop(last_column - first_column) as offset:
                column_block = k.let(first_column + offset, "column_block")
                base = shift(column_block) if shift is not None else const(0, "int64")
                with k.loop(plan.filtering.points) as point:
                    factors.prepare(column_block, point, base)
                    with k.loop(own_tiles * (plan.rows // plan.tile_rows)) as tile:
                        first_row = k.let(point * pitch + tile * plan.tile_rows + (base if spare else 0))
                        first_product = point * (plan.tiles * plan.rows) + tile * plan.tile_rows
                        target = k.let(first_product * plan.columns)
                        ends = (signal, first_row), (products, target)
                        if plan.tiles_multiply:
                            place = (column_block, point)
                            multiply = partial(_multiply_tiles, k, plan, weights=(weight, place), ends=ends)
                        else:
                            of = factors.of(column_block, point, tile)
                            multiply = partial(_multiply, k, plan, factors=of, ends=ends)
                        if plan.few_rows:
                            few = remaining - tile * plan.tile_rows <= plan.few_rows
                            k.choose(few, partial(multiply, plan.few_rows), partial(multiply, plan.tile_rows))
                        else:
                            multiply(plan.tile_rows)
                _interpolate(k, plan, products, column_block, rows, start, remaining, write)
                if moments is not None:
                    results, gathered = moments
                    count = k.opaque(minimum(rows * plan.filtering.outputs, remaining))
                    column = k.let(column_block * plan.columns)
                    emit_block_moments(k, results, start, count, column, (gathered, block), plan.columns)
            if moments is not None:
                with k.when(task == 0):
                    clear_slots(k, moments[1], blocks)


def _interpolate(
    k: CpuKernel,
    plan: ConvPlan,
    products: Any,
    column_block: Expr,
    rows: Expr,
    start: Expr,
    remaining: Expr,
    write: Callable[[Expr, Expr, Expr, int], None],
) -> None:
    """Transform the products of a block back to results and write those below `left`, from `start` on."""
    lanes, outputs, dilation = plan.features.lanes, plan.filtering.outputs, plan.dilation
    inner, outer = transforms(plan.filtering.inner), transforms(plan.filtering.outer)
    # Results of a row are `dilation` steps apart, rows within a dilation one step.
    with k.loop(rows) as row:
        at = k.opaque(row // dilation * (dilation * (outputs - 1)) + row if outputs > 1 else row)
        with k.when(at < remaining):
            for v in range(plan.vectors):
                column = k.let(column_block * plan.columns + v * lanes)

                def product(point: int, v: int = v) -> Expr:
                    """Load a vector of the products at a point."""
                    place = (point * plan.tiles * plan.rows + row) * plan.columns + v * lanes
                    return k.let(k.load(products, place, lanes=lanes))

                # Results of the outer filtering are products of the inner one.
                n = plan.filtering.inner.points
                by_point = [
                    inverse(k, outer, [product(at) for at in range(p, plan.filtering.points, n)], lanes)
                    for p in range(n)
                ]
                values = [
                    value
                    for points in zip(*by_point, strict=True)
                    for value in inverse(k, inner, points, lanes)
                ]
                for j, value in enumerate(values):
                    with k.when(at + j * dilation < remaining) if j else nullcontext():
                        write(k.let(start + at + j * dilation), column, value, lanes)


def _multiply(
    k: CpuKernel,
    plan: ConvPlan,
    rows: int,
    factors: Callable[[Expr, Expr], list[Expr]],
    ends: tuple[tuple[Any, Expr], tuple[Any, Expr]],
) -> None:
    """Multiply one register tile: `rows` rows of the signal times a block of columns of weights.

    Args:
        k: The kernel.
        plan: Sizes of the convolution.
        rows: Rows of the tile.
        factors: Called as factors(group, channel); returns `plan.vectors` vectors of weights.
        ends: Scratch of the signal and the tile's first row in it; scratch of the sums and the first element.
    """
    (signal, first_row), (products, target) = ends
    lanes = plan.features.lanes
    places = [(row, v) for row in range(rows) for v in range(plan.vectors)]
    acc = {place: k.registers(lanes) for place in places}
    pieces = ceildiv(plan.terms, plan.part)

    def total(place: tuple[int, int]) -> Expr:
        """Return the place of an accumulator's sums in memory."""
        return target + (place[0] * plan.columns + place[1] * lanes)

    with k.loop(pieces) as piece:
        first = k.let(piece * plan.part)
        terms = minimum(const(plan.part, "int64"), plan.terms - first)
        for register in acc.values():
            k.store(register, const(0.0, dtype(lanes)), 0, lanes=lanes)
        with k.loop(plan.groups) as g:

            def add_products(offset: Expr, together: int, first: Expr = first, g: Expr = g) -> None:
                """Add the products of `together` neighbouring channels, one after another."""
                c = k.let(first + offset)
                values: list[Expr] = []
                for term in range(together):
                    vectors = factors(g, c + term)
                    if term == 0:
                        origin = k.let((first_row + g * plan.dilation) * plan.row_floats + c)
                        starts = [origin + row * plan.row_floats for row in range(rows)]
                        values = [k.load(signal, at, lanes=together) for at in starts]
                        values = values if together == 1 else [k.let(value) for value in values]
                    for row, value in enumerate(values):
                        factor = k.let(k.broadcast_lane(value, term, lanes))
                        for v, vector in enumerate(vectors):
                            register = acc[row, v]
                            summed = k.load(register, 0, lanes=lanes)
                            k.store(
                                register, plan.operand.multiply_add(summed, factor, vector), 0, lanes=lanes
                            )

            if plan.features.by_lane:
                k.vectorize(terms, add_products)
            else:
                with k.loop(terms) as offset:
                    add_products(offset, 1)

        def begin() -> None:
            """Store the accumulators as the first partial sum."""
            for place, register in acc.items():
                k.store(products, k.load(register, 0, lanes=lanes), total(place), lanes=lanes)

        def add() -> None:
            """Add the accumulators to the sums in memory."""
            for place, register in acc.items():
                summed = k.load(products, total(place), lanes=lanes) + k.load(register, 0, lanes=lanes)
                k.store(products, summed, total(place), lanes=lanes)

        if pieces == 1:
            begin()
        else:
            k.choose(piece == 0, begin, add)


def _multiply_tiles(
    k: CpuKernel,
    plan: ConvPlan,
    rows: int,
    weights: tuple[Any, tuple[Expr, Expr]],
    ends: tuple[tuple[Any, Expr], tuple[Any, Expr]],
) -> None:
    """Multiply one register tile by AMX, with an accumulator for each tile of rows and of columns.

    Args:
        k: The kernel.
        plan: Sizes of the convolution.
        rows: Rows of the register tile.
        weights: All weights, and the column block and point to multiply by.
        ends: See `_multiply`.
    """
    (weight, place), ((signal, first_row), (products, target)) = weights, ends
    across, down = plan.vectors, rows // amx.ROWS
    values, factors = range(4, 4 + down), range(6, 6 + across)  # tiles; tiles 0 to 3 hold the sums
    places = [(row, v) for row in range(down) for v in range(across)]
    for row, v in places:
        amx.clear(row * across + v)
    with k.loop(plan.groups) as g, k.loop(plan.terms // amx.LANES) as piece:
        c = k.let(piece * amx.LANES)
        start = k.let((first_row + g * plan.dilation) * plan.row_floats + c)
        for row, tile in enumerate(values):
            amx.load(tile, signal, (start + row * amx.ROWS * plan.row_floats,), plan.row_floats)
        for v, tile in enumerate(factors):
            amx.load(tile, weight, (*place, g, c, v * amx.LANES), plan.columns)
        for row, v in places:
            amx.add_products(row * across + v, values[row], factors[v])
    for row, v in places:
        at = target + (row * amx.ROWS * plan.columns + v * amx.LANES)
        amx.store(row * across + v, products, (at,), plan.columns)


def _fill(
    k: CpuKernel, plan: ConvPlan, source: ConvInput, signal: Any, pitch: int, origin: Expr, rows: Expr
) -> None:
    """Fill signal[point][row][channel] with activated, transformed rows; zeros outside the valid steps."""
    inner, outer = plan.filtering.inner, plan.filtering.outer
    terms = plan.operand.terms
    fresh, overlap = inner.outputs, inner.taps - 1

    def channels(residue: int, c: Expr, width: int) -> None:
        """Fill all rows of the neighbouring vectors of `width` channels that are packed into one."""
        starts = [c, *(c + i * width for i in range(1, terms))]
        applies = [source.activation.channels(k, start, width) for start in starts]
        zero = const(0.0, dtype(width))

        def nearest(time: Expr) -> Expr:
            """Clamp a step to those that exist."""
            return k.let(maximum(minimum(time, source.valid_steps - 1), const(0, "int64")))

        def fetch(time: Expr) -> None:
            """Prefetch a step of the input, or the nearest that exists."""
            existing = nearest(time)
            for start in starts:
                k.prefetch(source.x, 0, existing, start)

        def activate_step(time: Expr) -> list[Expr]:
            """Return the activated vectors of a step, zero if the step does not exist."""
            inside = k.let(logical_and(time >= 0, time < source.valid_steps))
            existing = nearest(time)
            return [
                k.let(select(inside, apply(k.load(source.x, 0, existing, start, lanes=width)), zero))
                for start, apply in zip(starts, applies, strict=True)
            ]

        def put(point: int, row: Expr, values: Sequence[Expr]) -> None:
            """Round vectors to the operand's dtype and store them at a point of a row of the signal."""
            at = (point * pitch + row) * plan.row_floats + residue * source.channels // terms + c // terms
            k.store(signal, plan.operand.round(tuple(values)), at, lanes=width)

        if plan.filtering == DIRECT:
            with k.loop(rows) as row:
                put(0, row, activate_step(k.let(origin + row * source.stride + residue)))
            return

        def store_all(registers: Sequence[Any], values: Sequence[Expr]) -> None:
            """Store values in registers, one in each."""
            for register, value in zip(registers, values, strict=True):
                k.store(register, value, 0, lanes=width)

        def load_all(registers: Sequence[Any]) -> list[Expr]:
            return [k.let(k.load(register, 0, lanes=width)) for register in registers]

        # Neighbouring rows of a residue of the dilation share all steps but `fresh`, and all inner rows but
        # as many as the outer filtering has results.
        with k.loop(plan.dilation) as step:
            window = [[k.registers(width) for _ in starts] for _ in range(inner.samples)]
            before = [
                [[k.registers(width) for _ in range(inner.points)] for _ in starts]
                for _ in range(outer.taps - 1)
            ]

            def next_window(begin: Expr) -> list[list[Expr]]:
                """Read the fresh samples of an inner row from step `begin` on and shift the window by them.

                Returns the window, for each of `starts`.
                """
                for i in range(fresh):
                    store_all(window[overlap + i], activate_step(k.let(begin + i * plan.dilation)))
                    fetch(begin + (_AHEAD * fresh + i) * plan.dilation)
                samples = [load_all(registers) for registers in window]
                for i in range(overlap):
                    store_all(window[i], samples[fresh + i])
                return [list(values) for values in zip(*samples, strict=True)]

            def transform_next_row(begin: Expr) -> list[list[Expr]]:
                """Return the transform of the next window, by point, for each of `starts`."""
                return [forward(k, transforms(inner), values, width) for values in next_window(begin)]

            def start_of(row: Expr) -> Expr:
                """Return the first fresh step of an inner row."""
                return k.opaque(origin + step + (row * fresh + overlap) * plan.dilation)

            for i in range(overlap):
                store_all(window[i], activate_step(k.let(origin + step + i * plan.dilation)))
            for row, registers in enumerate(before):
                for point, values in zip(registers, transform_next_row(start_of(row)), strict=True):
                    store_all(point, values)
            if inner.circle:
                with k.loop(rows // plan.dilation) as q:
                    for p, vectors in forward_together(k, transforms(inner), next_window(start_of(q)), width):
                        put(p, q * plan.dilation + step, vectors)
                return
            with k.loop(rows // plan.dilation) as q:
                first = q * outer.outputs + (outer.taps - 1)
                rows_seen = [[load_all(point) for point in registers] for registers in before]
                rows_seen += [transform_next_row(start_of(first + i)) for i in range(outer.outputs)]
                for p in range(inner.points):
                    by_start = [
                        forward(k, transforms(outer), [row[s][p] for row in rows_seen], width)
                        for s in range(len(starts))
                    ]
                    for o, vectors in enumerate(zip(*by_start, strict=True)):
                        put(o * inner.points + p, q * plan.dilation + step, vectors)
                for registers, row in zip(before, rows_seen[outer.outputs :], strict=True):
                    for point, values in zip(registers, row, strict=True):
                        store_all(point, values)

    for residue in range(source.stride):
        plan.operand.loop_lanes(k, source.channels, partial(channels, residue))
