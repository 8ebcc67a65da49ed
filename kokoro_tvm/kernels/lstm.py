"""Recurrence of a bidirectional LSTM: a loop over the valid steps, each direction on its own thread."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from kokoro_tvm.kernels.base.expressions import const, minimum, select
from kokoro_tvm.kernels.base.math import dtype, sigmoid, tanh
from kokoro_tvm.kernels.base.semantic import OpCall, OpImplementation, Packing, Shape, crop_valid, semantic_op
from kokoro_tvm.kernels.cpu.kernel import CpuKernel
from kokoro_tvm.kernels.gpu.kernel import GpuKernel


def _infer_shape(*, forward: Shape, weight_forward: Shape, **_: Any) -> Shape:
    return (1, forward[1], 2 * weight_forward[1])


_PART = 32  # terms of a partial sum of the recurrence


def _choose_units(call: OpCall) -> int:
    """Return how many hidden units are computed side by side: two vectors if they divide the hidden size."""
    hidden, lanes = int(call.shapes["weight_forward"][1]), call.features.lanes
    return next(
        width for width in (2 * lanes, lanes, lanes // 2, lanes // 4, 1) if width and hidden % width == 0
    )


def _build_cpu_kernel(call: OpCall) -> Any:
    hidden, units = int(call.shapes["weight_forward"][1]), _choose_units(call)
    blocks, lanes = hidden // units, min(units, call.features.lanes)
    vectors = units // lanes
    k = CpuKernel("lstm", lanes)
    with k:
        inputs = [k.param(name, call.shapes[name]) for name in ("forward", "backward")]
        parameters = {}
        for name in ("forward", "backward"):
            parameters[name] = (
                k.param(f"weight_{name}", (blocks, hidden, 4, units)),
                k.param(f"bias_{name}", (4 * hidden,)),
            )
        y, valid_steps = call.declare_result(k)
        n = k.let(valid_steps, "n")

        def direction(gates: Any, weight: Any, bias: Any, reverse: bool) -> None:
            """Run one direction over all steps, from a state of zeros."""
            h, following, c = k.scratch(hidden), k.scratch(hidden), k.scratch(hidden)
            zero = const(0.0, "float32")
            with k.loop(hidden) as j:
                k.store(h, zero, j)
                k.store(c, zero, j)
            with k.loop(n) as i:
                step(k.let(n - 1 - i if reverse else i), gates, weight, bias, h, following, c, reverse)

        def step(
            t: Any, gates: Any, weight: Any, bias: Any, h: Any, following: Any, c: Any, reverse: bool
        ) -> None:
            """Compute step `t` from the states `h` and `c`, which become those of the step."""
            with k.loop(blocks) as block:
                total, acc = k.registers(4 * units), k.registers(4 * units)
                places = [(gate, v, gate * units + v * lanes) for gate in range(4) for v in range(vectors)]
                for gate, v, at in places:
                    unit = k.let(gate * hidden + block * units + v * lanes)
                    start = k.load(gates, 0, t, unit, lanes=lanes) + k.load(bias, unit, lanes=lanes)
                    k.store(total, start, at, lanes=lanes)
                with k.loop(-(-hidden // _PART)) as part:
                    for _, _, at in places:
                        k.store(acc, const(0.0, dtype(lanes)), at, lanes=lanes)
                    first = k.let(part * _PART)
                    with k.loop(minimum(const(_PART, "int64"), hidden - first)) as offset:
                        j = k.let(first + offset)
                        factor = k.let(k.broadcast(h[j], lanes))
                        for gate, v, at in places:
                            product = factor * k.load(weight, block, j, gate, v * lanes, lanes=lanes)
                            k.accumulate(acc, product, at, lanes=lanes)
                    for _, _, at in places:
                        k.accumulate(total, k.load(acc, at, lanes=lanes), at, lanes=lanes)
                for v in range(vectors):
                    i, f, g, o = (k.load(total, gate * units + v * lanes, lanes=lanes) for gate in range(4))
                    at = k.let(block * units + v * lanes)
                    cell = sigmoid(k, f) * k.load(c, at, lanes=lanes) + sigmoid(k, i) * tanh(k, g)
                    cell = k.opaque(cell)
                    k.store(c, cell, at, lanes=lanes)
                    k.store(following, sigmoid(k, o) * tanh(k, cell), at, lanes=lanes)
            with k.loop(blocks * vectors) as block:
                value = k.let(k.load(following, block * lanes, lanes=lanes))
                k.store(h, value, block * lanes, lanes=lanes)
                k.store(y, value, 0, t, block * lanes + (hidden if reverse else 0), lanes=lanes)

        with k.parallel(2) as direction_index:
            k.choose(
                direction_index == 0,
                lambda: direction(inputs[0], *parameters["forward"], reverse=False),
                lambda: direction(inputs[1], *parameters["backward"], reverse=True),
            )
    return k.build()


def _get_packings(call: OpCall) -> Mapping[str, Packing]:
    units = _choose_units(call)

    def arrange(weight: np.ndarray) -> np.ndarray:
        hidden = weight.shape[1]
        gates = weight.reshape(4, hidden // units, units, hidden).astype(np.float32)
        return np.ascontiguousarray(gates.transpose(1, 3, 0, 2))

    packing = Packing(f"lstm(units={units})", arrange, 4 * units)
    return {"weight_forward": packing, "weight_backward": packing}


def _build_gpu_kernel(call: OpCall) -> Any:
    """Build the GPU kernel: a workgroup for each direction, which keeps its state over all steps."""
    # A thread has all four gates of its units, so that only hidden states pass from thread to thread.
    hidden = int(call.shapes["weight_forward"][1])
    k = GpuKernel("lstm", call.features)
    # All threads have the same number of units, so that no barrier is in a condition.
    threads = next(count for count in range(k.limits.threads, 0, -1) if hidden % count == 0)
    with k:
        inputs = [k.param(name, call.shapes[name]) for name in ("forward", "backward")]
        parameters = [
            (k.param(f"weight_{name}", (hidden, 4, hidden)), k.param(f"bias_{name}", (4 * hidden,)))
            for name in ("forward", "backward")
        ]
        y, n = call.declare_result(k)

        def gates(direction_index: int, t: Any, unit: Any, h: Any) -> Any:
            """Return the sums of a unit's four gates."""
            projected, (weight, bias) = inputs[direction_index], parameters[direction_index]
            sums, part = k.registers(4), k.registers(4)
            for gate in range(4):
                k.store(sums, projected[0, t, gate * hidden + unit] + bias[gate * hidden + unit], gate)

            def add(first: Any, count: int) -> None:
                """Add the products of `count` hidden units from `first` on as one partial sum."""
                for gate in range(4):
                    k.store(part, const(0.0, "float32"), gate)
                with k.loop(count) as offset:
                    j = k.let(first + offset)
                    factor = k.let(h[j])
                    for gate in range(4):
                        k.accumulate(part, factor * weight[j, gate, unit], gate)
                for gate in range(4):
                    k.accumulate(sums, part[gate], gate)

            with k.loop(hidden // _PART) as number:
                add(k.let(number * _PART), _PART)
            if hidden % _PART:
                add(k.index(hidden // _PART * _PART), hidden % _PART)
            return sums

        with k.launch(threads, 2) as (thread, direction):
            units = [k.let(thread + own * threads) for own in range(hidden // threads)]
            h, cells, hidden_outputs = k.shared(hidden), k.registers(len(units)), k.registers(len(units))
            for own, unit in enumerate(units):
                k.store(h, const(0.0, "float32"), unit)
                k.store(cells, const(0.0, "float32"), own)
            k.barrier()
            for direction_index in range(2):
                # The other workgroup loops zero times; a condition must not surround the barriers.
                with k.loop(k.let(select(direction == direction_index, n, k.index(0)))) as i:
                    t = k.let(n - 1 - i if direction_index else i)
                    for own, unit in enumerate(units):
                        sums = gates(direction_index, t, unit, h)
                        i_gate, f_gate, g_gate, o_gate = (sums[gate] for gate in range(4))
                        cell = sigmoid(k, f_gate) * cells[own] + sigmoid(k, i_gate) * tanh(k, g_gate)
                        k.store(cells, cell, own)
                        k.store(hidden_outputs, sigmoid(k, o_gate) * tanh(k, cells[own]), own)
                    k.barrier()
                    for own, unit in enumerate(units):
                        k.store(h, hidden_outputs[own], unit)
                        k.store(y, hidden_outputs[own], 0, t, unit + direction_index * hidden)
                    k.barrier()
    return k.build()


def _get_gpu_packings(call: OpCall) -> Mapping[str, Packing]:
    """Pack weights so that neighbouring threads, which have neighbouring units, read neighbouring weights."""

    def pack(weight: np.ndarray) -> np.ndarray:
        gates = weight.reshape(4, -1, weight.shape[1]).astype(np.float32)
        return np.ascontiguousarray(gates.transpose(2, 0, 1))

    packing = Packing("gpu_lstm", pack)
    return {"weight_forward": packing, "weight_backward": packing}


@semantic_op(
    _infer_shape,
    cpu=OpImplementation(_build_cpu_kernel, _get_packings),
    gpu=OpImplementation(_build_gpu_kernel, _get_gpu_packings),
    flops=lambda call: 16 * int(call.shapes["weight_forward"][1]) ** 2,
)
def lstm(
    forward: Tensor,
    backward: Tensor,
    weight_forward: Tensor,
    bias_forward: Tensor,
    weight_backward: Tensor,
    bias_backward: Tensor,
    length: Tensor | None = None,
) -> Tensor:
    """Return the hidden states of both directions from gate inputs that are already projected.

    Args:
        forward: (1, T, 4H), W_ih x + b_ih, gates in torch's order i, f, g, o.
        backward: (1, T, 4H), likewise.
        weight_forward: (4H, H), W_hh.
        bias_forward: (4H,), b_hh.
        weight_backward: (4H, H), W_hh.
        bias_backward: (4H,), b_hh.
        length: int64 (1,), valid steps; the backward direction starts at the last one.

    Returns:
        (1, T, 2H).
    """
    hidden = weight_forward.shape[1]
    out = forward.new_zeros(1, forward.shape[1], 2 * hidden)
    directions = ((forward, weight_forward, bias_forward), (backward, weight_backward, bias_backward))
    for direction_index, (gates, weight, bias) in enumerate(directions):
        inputs = crop_valid(gates, length)[0]
        h, c = forward.new_zeros(hidden), forward.new_zeros(hidden)
        steps = range(inputs.shape[0])
        for t in steps if direction_index == 0 else reversed(steps):
            i, f, g, o = (inputs[t] + weight @ h + bias).chunk(4)
            c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
            h = torch.sigmoid(o) * torch.tanh(c)
            out[0, t, direction_index * hidden : (direction_index + 1) * hidden] = h
    return out
