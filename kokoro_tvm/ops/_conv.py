"""The convolution kernels: register tiles over a slab of activated input.

Time is cut into blocks. For each block the needed steps of every input channel are activated once and laid
into a slab, zeros where they lie outside the valid part, so edges, short lengths and lengths known only at
run time need no special case. A tile of output channels x time steps then stays in registers over all input
channels and taps. A stride becomes more channels (one per residue), a transposed convolution more output
channels (one set per phase), so that one inner loop serves all three.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from kokoro_tvm.ops._activation import Activation
from kokoro_tvm.ops._features import Features
from kokoro_tvm.ops._kernel import Cast, Kernel, ceildiv, const, logical_and, minimum, select
from kokoro_tvm.ops._math import dtype
from kokoro_tvm.ops._semantic import Call, Packing

__all__ = ["convolution", "pack_convolution", "pack_transposed", "transposed_convolution"]

_SLAB_FLOATS = 96 * 1024  # what a block may take of the second-level cache
_BLOCK_VECTORS = 16  # a block is at most this many vectors long
_GROUP_TILES = 8  # output tiles per task where time alone gives too few tasks


@dataclass(frozen=True)
class _Plan:
    """Sizes of one convolution, in the form all three share: stride 1, taps `dilation` apart."""

    channels: int  # of the slab: input channels x residues
    outputs: int  # output channels x phases
    taps: int
    dilation: int
    features: Features

    @property
    def tile(self) -> int:
        return self.features.tile_channels

    @property
    def steps(self) -> int:
        return self.features.tile_vectors * self.features.lanes

    @property
    def tiles(self) -> int:
        return ceildiv(self.outputs, self.tile)

    @property
    def reach(self) -> int:
        return (self.taps - 1) * self.dilation

    @property
    def part(self) -> int:
        """Input channels summed in one go: the rounding error of a sum grows with its parts, not with its
        terms.

        Layers of one or few taps make up the text side and the pitch, where errors add up over the utterance.
        """
        terms = 16 if self.taps == 1 else 48 if self.taps <= 5 else 128
        return max(terms // self.taps, 1)

    @property
    def total_type(self) -> str:
        """What the parts are added up in: the many layers of BERT are of one tap, and each adds its error."""
        return "float64" if self.taps == 1 else "float32"

    @property
    def block(self) -> int:
        wanted = _SLAB_FLOATS // self.channels - self.reach
        most = _BLOCK_VECTORS * self.features.lanes
        return max(min(wanted, most) // self.steps, 1) * self.steps

    @property
    def pitch(self) -> int:
        """Slab row length: an odd number of vectors, so that rows do not fall on the same cache sets."""
        lanes = self.features.lanes
        vectors = ceildiv(self.block + self.reach + lanes, lanes)  # a phase may start one step later
        return (vectors | 1) * lanes


def _group(plan: _Plan) -> int:
    return min(_GROUP_TILES, plan.tiles)


def _pack(weight: np.ndarray, tile: int) -> np.ndarray:
    """(outputs, channels, taps) -> (tiles, channels, taps, tile), zero rows where outputs do not fill a
    tile."""
    outputs, channels, taps = weight.shape
    padded = np.zeros((-(-outputs // tile) * tile, channels, taps), np.float32)
    padded[:outputs] = weight
    return np.ascontiguousarray(padded.reshape(-1, tile, channels, taps).transpose(0, 2, 3, 1))


def _residues(weight: np.ndarray, stride: int) -> np.ndarray:
    """A strided convolution as one of stride 1 over `stride` times the channels (channel-major,
    residue-minor)."""
    outputs, channels, taps = weight.shape
    folded = -(-taps // stride)
    padded = np.zeros((outputs, channels, folded * stride), weight.dtype)
    padded[:, :, :taps] = weight
    split = padded.reshape(outputs, channels, folded, stride)
    return split.transpose(0, 1, 3, 2).reshape(outputs, channels * stride, folded)


def _phases(weight: np.ndarray, stride: int, tile: int) -> np.ndarray:
    """A transposed convolution (I, O, 2*stride) as `stride` convolutions of two taps, one after another."""
    inputs, outputs, _ = weight.shape
    width = -(-outputs // tile) * tile
    rows = np.zeros((stride * width, inputs, 2), weight.dtype)
    for phase in range(stride):
        near = (phase + stride // 2) % stride
        for tap, source in enumerate((near + stride, near)):  # the earlier input step takes the later weight
            rows[phase * width : phase * width + outputs, :, tap] = weight[:, :, source].T
    return rows


def pack_convolution(call: Call) -> Packing:
    tile, stride = call.features.tile_channels, int(call.attributes["stride"])

    def pack(weight: np.ndarray) -> np.ndarray:
        weight = weight.reshape(*weight.shape[:2], -1)
        return _pack(_residues(weight, stride) if stride > 1 else weight, tile)

    return Packing(f"convolution(tile={tile}, stride={stride})", pack)


def pack_transposed(call: Call) -> Packing:
    tile, stride = call.features.tile_channels, int(call.attributes["stride"])
    return Packing(
        f"transposed_convolution(tile={tile}, stride={stride})",
        lambda w: _pack(_phases(w, stride, tile), tile),
    )


def _optional(k: Kernel, call: Call, name: str, dtype: str = "float32") -> Any | None:
    return k.param(name, call.shapes[name], dtype) if call.has(name) else None


def _emit(
    k: Kernel,
    plan: _Plan,
    weight: Any,
    length: Any,
    fill: Callable[[Any, Any, Any], None],
    finish: Callable[[Any, Any, Any, int], None],
    shift: Callable[[Any], Any],
    contiguous: bool,
) -> None:
    """The loops all convolutions share: `fill(slab, start, steps)`, tiles, `finish(output, step, value,
    lanes)`.

    length: how many steps the stride-1 convolution yields. shift(tile): where in the slab a tile's first tap
    is.
    contiguous: whether neighbouring steps of a tile are neighbours in the result, and can be written as
    vectors.
    """
    def widened(value: Any) -> Any:
        return Cast(dtype(lanes, "float64"), value) if plan.total_type == "float64" else value

    def narrowed(value: Any, width: int) -> Any:
        return Cast(dtype(width), value) if plan.total_type == "float64" else value

    vectors, lanes, tile = plan.features.tile_vectors, plan.features.lanes, plan.tile
    blocks = k.let(ceildiv(length, plan.block), "blocks")
    group = _group(plan)
    groups = ceildiv(plan.tiles, group)
    # Where time gives enough tasks every block does all channels and its slab is filled once.
    split = k.let(select(blocks < 8, const(groups, "int64"), const(1, "int64")), "split")
    per_task = k.let(select(blocks < 8, const(group, "int64"), const(plan.tiles, "int64")), "per_task")
    with k.parallel(blocks * split) as task:
        block = k.let(task // split, "block")
        start = k.let(block * plan.block, "start")
        steps = k.let(minimum(const(plan.block, "int64"), length - start), "steps")
        slab, total = k.scratch(plan.channels * plan.pitch), k.scratch(tile * plan.steps, plan.total_type)
        fill(slab, start, steps)
        first = k.let((task - block * split) * per_task, "first_tile")
        with k.loop(minimum(per_task, plan.tiles - first)) as offset:
            row = k.let(first + offset, "tile")
            base = k.let(shift(row), "base")
            with k.loop(ceildiv(steps, plan.steps)) as sub:
                acc = [k.registers(lanes) for _ in range(tile * vectors)]
                with k.loop(ceildiv(plan.channels, plan.part)) as piece:
                    for register in acc:
                        k.store(register, const(0.0, dtype(lanes)), 0, lanes=lanes)
                    first_channel = k.let(piece * plan.part)
                    terms = minimum(const(plan.part, "int64"), plan.channels - first_channel)
                    with k.loop(terms) as offset_channel:
                        c = k.let(first_channel + offset_channel)
                        origin = k.let(c * plan.pitch + base + sub * plan.steps, "origin")
                        for tap in range(plan.taps):
                            inputs = [
                                k.let(k.load(slab, origin + (tap * plan.dilation + v * lanes), lanes=lanes))
                                for v in range(vectors)
                            ]
                            for out in range(tile):
                                factor = k.splat(weight[row, c, tap, out], lanes)
                                for v in range(vectors):
                                    register = acc[out * vectors + v]
                                    summed = k.load(register, 0, lanes=lanes) + factor * inputs[v]
                                    k.store(register, summed, 0, lanes=lanes)

                    def begin(acc: Any = acc) -> None:
                        for slot, register in enumerate(acc):
                            summed = widened(k.load(register, 0, lanes=lanes))
                            k.store(total, summed, slot * lanes, lanes=lanes)

                    def add(acc: Any = acc) -> None:
                        for slot, register in enumerate(acc):
                            summed = k.load(total, slot * lanes, lanes=lanes)
                            summed = summed + widened(k.load(register, 0, lanes=lanes))
                            k.store(total, summed, slot * lanes, lanes=lanes)

                    k.choose(piece == 0, begin, add)
                step = k.let(sub * plan.steps, "step")

                def whole(row: Any = row, step: Any = step, start: Any = start) -> None:
                    for out in range(tile):
                        for v in range(vectors):
                            value = narrowed(k.load(total, (out * vectors + v) * lanes, lanes=lanes), lanes)
                            finish(row * tile + out, start + step + v * lanes, value, lanes)

                def partial(
                    row: Any = row, step: Any = step, start: Any = start, steps: Any = steps
                ) -> None:
                    rest = minimum(steps - step, const(plan.steps, "int64"))
                    with k.loop(tile) as out, k.loop(rest) as t:
                        value = narrowed(total[out * plan.steps + t], 1)
                        finish(row * tile + out, start + step + t, value, 1)

                if contiguous:
                    k.choose(step + plan.steps <= steps, whole, partial)
                else:
                    partial()


def convolution(call: Call) -> Any:
    """conv1d: see the operation for what it computes. Weights come as `pack_convolution` leaves them."""
    outputs = int(call.result[1])
    inputs = int(call.shapes["x"][1])
    stride, padding = int(call.attributes["stride"]), int(call.attributes["padding"])
    dilation, gain = int(call.attributes["dilation"]), float(call.attributes["gain"])
    taps = int(call.shapes["weight"][2]) if len(call.shapes["weight"]) == 3 else 1
    if stride > 1 and dilation > 1:
        raise NotImplementedError("conv1d: stride and dilation together have no kernel")
    plan = _Plan(inputs * stride, outputs, ceildiv(taps, stride), dilation, call.features)
    lanes = plan.features.lanes

    k = Kernel("conv1d", lanes)
    with k:
        x = k.param("x", call.shapes["x"])
        weight = k.param("weight", (plan.tiles, plan.channels, plan.taps, plan.tile))
        bias, norm = _optional(k, call, "bias"), _optional(k, call, "norm")
        alpha, residual = _optional(k, call, "alpha"), _optional(k, call, "residual")
        length = _optional(k, call, "length", "int64")
        y = k.param("y", call.result)
        given = k.let(length[0] if length is not None else k.index(x.shape[2]), "given")
        n = k.let((given + (2 * padding - dilation * (taps - 1) - 1)) // stride + 1, "n")
        activation = Activation(norm, alpha, float(call.attributes["slope"]))

        def fill(slab: Any, start: Any, steps: Any) -> None:
            _fill_slab(k, plan, slab, x, activation, start * stride - padding, given, stride, steps)

        def finish(out: Any, t: Any, value: Any, width: int) -> None:
            def write() -> None:
                result = value
                if bias is not None:
                    result = result + k.splat(bias[out], width)
                if residual is not None:
                    result = result + k.load(residual, 0, out, t, lanes=width)
                if gain != 1.0:
                    result = result * const(gain, dtype(width))
                k.store(y, result, 0, out, t, lanes=width)

            if outputs % plan.tile == 0:
                write()
            else:
                with k.when(out < outputs):
                    write()

        _emit(k, plan, weight, n, fill, finish, lambda row: const(0, "int64"), contiguous=True)
    return k.build()


def _fill_slab(
    k: Kernel,
    plan: _Plan,
    slab: Any,
    x: Any,
    activation: Activation,
    origin: Any,
    given: Any,
    stride: int,
    steps: Any,
) -> None:
    """Lays activated input into the slab: slab[c*stride + r][j] = act(x[c][origin + j*stride + r]), zeros
    outside."""
    lanes = plan.features.lanes
    # Tiles read whole vectors past the last step; what they read must be finite, so rows are filled to a
    # tile's end.
    width = k.let(ceildiv(steps, plan.steps) * plan.steps + (plan.pitch - plan.block), "width")
    with k.loop(plan.channels // stride) as c:
        apply = activation.channel(k, c)
        for residue in range(stride):
            row = k.let((c * stride + residue) * plan.pitch, "row")
            if stride > 1:
                with k.loop(width) as j:
                    at = k.let(origin + j * stride + residue)

                    def activated(at: Any = at) -> Any:
                        return apply(x[0, c, at], 1)

                    _store_or_zero(k, slab, row + j, at, given, activated)
                continue
            with k.loop(width // lanes) as j:
                at = k.let(origin + j * lanes)

                def inside(at: Any = at, j: Any = j, row: Any = row) -> None:
                    value = apply(k.load(x, 0, c, at, lanes=lanes), lanes)
                    k.store(slab, value, row + j * lanes, lanes=lanes)

                def across(at: Any = at, j: Any = j, row: Any = row) -> None:
                    with k.loop(lanes) as lane:
                        here = k.let(at + lane)
                        index = row + j * lanes + lane
                        _store_or_zero(k, slab, index, here, given, lambda: apply(x[0, c, here], 1))

                k.choose(logical_and(at >= 0, at + lanes <= given), inside, across)


def _store_or_zero(k: Kernel, slab: Any, index: Any, at: Any, given: Any, value: Callable[[], Any]) -> None:
    k.choose(
        logical_and(at >= 0, at < given),
        lambda: k.store(slab, value(), index),
        lambda: k.store(slab, const(0.0, "float32"), index),
    )


def transposed_convolution(call: Call) -> Any:
    """conv_transpose1d: every output phase is a convolution of two taps over neighbouring input steps."""
    inputs, outputs = int(call.shapes["x"][1]), int(call.shapes["weight"][1])
    stride, lead = int(call.attributes["stride"]), int(call.attributes["lead"])
    features = call.features
    width = ceildiv(outputs, features.tile_channels) * features.tile_channels
    plan = _Plan(inputs, stride * width, 2, 1, features)
    tiles_per_phase = width // features.tile_channels
    half = stride // 2

    k = Kernel("conv_transpose1d", features.lanes)
    with k:
        x = k.param("x", call.shapes["x"])
        weight = k.param("weight", (plan.tiles, plan.channels, 2, plan.tile))
        bias, residual = _optional(k, call, "bias"), _optional(k, call, "residual")
        length = _optional(k, call, "length", "int64")
        y = k.param("y", call.result)
        given = k.let(length[0] if length is not None else k.index(x.shape[2]), "given")
        activation = Activation(None, None, float(call.attributes["slope"]))

        def fill(slab: Any, start: Any, steps: Any) -> None:
            _fill_slab(k, plan, slab, x, activation, start - 1, given, 1, steps)

        def finish(row: Any, t: Any, value: Any, lanes: int) -> None:
            phase = k.let(row // width)
            out = k.let(row - phase * width)

            def put(position: Any, result: Any) -> None:
                if bias is not None:
                    result = result + bias[out]
                if residual is not None:
                    result = result + residual[0, out, position]
                k.store(y, result, 0, out, position)

            def write() -> None:
                at = k.let(t * stride + phase)
                put(at + lead, value)
                if lead:  # the reflected first step repeats the second
                    with k.when(at == 1):
                        put(const(0, "int64"), value)

            if outputs % plan.tile == 0:
                write()
            else:
                with k.when(out < outputs):
                    write()

        def shift(row: Any) -> Any:
            late = row // tiles_per_phase + half >= stride
            return select(late, const(1, "int64"), const(0, "int64"))

        _emit(k, plan, weight, given, fill, finish, shift, contiguous=False)
    return k.build()


