"""Upsampling by transposed convolution, optionally with one reflected step before."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any

import torch.nn.functional as F
from torch import Tensor

from kokoro_tvm.kernels.base.expressions import ceildiv, const, logical_and, select
from kokoro_tvm.kernels.base.semantic import (
    OpCall,
    OpImplementation,
    Packing,
    Shape,
    activate,
    crop_valid,
    pad_steps,
    semantic_op,
)
from kokoro_tvm.kernels.cpu import conv as _conv
from kokoro_tvm.kernels.cpu.activation import Activation
from kokoro_tvm.kernels.cpu.conv_plan import ConvPlan, packing, split_phases
from kokoro_tvm.kernels.cpu.kernel import CpuKernel
from kokoro_tvm.kernels.gpu.conv import Tile, convolve
from kokoro_tvm.kernels.gpu.kernel import GpuKernel
from kokoro_tvm.kernels.gpu.layer import ConvLayer, activate_value, select_weight_dtype
from kokoro_tvm.kernels.moments import SPARE_SLOTS


def _infer_shape(*, x: Shape, weight: Shape, stride: int, lead: bool, **_: Any) -> Shape:
    return (1, x[1] * stride + int(lead), weight[1])


def _make_plan(call: OpCall) -> ConvPlan:
    """Return the sizes of the CPU kernel: two taps, and the outputs of one phase after another."""
    inputs, stride = int(call.shapes["x"][2]), call.get_int("stride")
    columns = ConvPlan(inputs, 1, 2, 1, call.features).columns
    width = ceildiv(int(call.result[2]), columns) * columns
    return ConvPlan(
        inputs, stride * width, 2, 1, call.features, bool(call.attributes["tolerant"]), phases=stride
    )


def _build_cpu_kernel(call: OpCall) -> Any:
    plan = _make_plan(call)
    stride, lead = call.get_int("stride"), call.get_int("lead")
    width = plan.outputs // stride
    k = CpuKernel("conv_transpose1d", plan.features.lanes)
    with k:
        x = k.param("x", call.shapes["x"])
        weight = k.param("weight", plan.packed_shape, plan.operand.stored)
        bias, residual = call.optional(k, "bias"), call.optional(k, "residual")
        y, valid_steps = call.declare_result(k, x)
        valid_steps = k.opaque(valid_steps)
        source = _conv.ConvInput(x, valid_steps, Activation(None, None, call.get_float("slope")))
        output = _conv.ConvOutput(k, y, bias, residual)
        put = output.put if output.channels % plan.columns == 0 else output.put_some

        def write(step: Any, column: Any, value: Any, lanes: int) -> None:
            """Store a column of the convolution: a channel of its step and phase."""
            phase = k.let(column // width)
            c = k.let(column - phase * width)
            at = k.let(step * stride + phase)
            put(at + lead, c, value, lanes)
            if lead:  # the reflected first step repeats the second
                with k.when(at == 1):
                    put(const(0, "int64"), c, value, lanes)

        def shift(column_block: Any) -> Any:
            """Return the rows by which a column block reads later: 1 for the second half of the phases."""
            late = column_block * plan.columns // width + stride // 2 >= stride
            return select(late, const(1, "int64"), const(0, "int64"))

        _conv.emit(k, plan, weight, source, -1, valid_steps, write, shift)
    return k.build()


def _get_packings(call: OpCall) -> Mapping[str, Packing]:
    plan, stride = _make_plan(call), call.get_int("stride")
    name = f"transposed_convolution({plan.layout}, stride={stride})"
    return {"weight": packing(name, plan, lambda w: split_phases(w, stride, plan.columns))}


def _choose_gpu_tile(call: OpCall) -> Tile:
    moments = call.moments is not None
    return Tile.choose(int(call.shapes["x"][2]), int(call.result[2]), taps=2, dilation=1, moments=moments)


def _can_emit_gpu_moments(call: OpCall) -> bool:
    """Return whether the kernel can emit moments."""
    # Every phase leaves its last block partly empty, and the spare slots are limited.
    is_even = int(call.result[2]) % _choose_gpu_tile(call).outputs == 0
    return is_even and call.get_int("stride") + call.get_int("lead") < SPARE_SLOTS


def _get_gpu_packings(call: OpCall) -> Mapping[str, Packing]:
    tile, stride, dtype = _choose_gpu_tile(call), call.get_int("stride"), select_weight_dtype(call)
    return {
        "weight": Packing(
            f"gpu_transposed_convolution({tile.layout}, stride={stride}, {dtype})",
            lambda w: tile.pack(split_phases(w, stride, tile.outputs), dtype),
        )
    }


def _list_gpu_float16(call: OpCall) -> frozenset[str]:
    """List the tensors that memory may hold as float16."""
    return frozenset({"x", "residual", "y"} if call.attributes["tolerant"] else ())


def _build_gpu_kernel(call: OpCall) -> Any:
    """Build the GPU kernel: as on CPUs, two taps and the outputs of one phase after another."""
    tile, stride, lead = _choose_gpu_tile(call), call.get_int("stride"), call.get_int("lead")
    channels, outputs = int(call.shapes["x"][2]), int(call.result[2])
    width = ceildiv(outputs, tile.outputs) * tile.outputs
    packed = (2, ceildiv(channels, tile.depth) * tile.depth, stride * width)
    k = GpuKernel("conv_transpose1d", call.features)
    with k:
        x = k.param("x", call.shapes["x"], call.dtype("x"))
        weight = k.param("weight", packed, select_weight_dtype(call))
        bias, residual = call.optional(k, "bias"), call.optional(k, "residual")
        y, valid_steps = call.declare_result(k, x)
        moments = k.param("moments", call.moments) if call.moments is not None else None

        def read(row: Any, channel: Any) -> Any:
            """Return the activated input, 0 outside the valid steps."""
            t = k.let(row - 1)
            value = k.zeros()
            with k.when(logical_and(t >= 0, t < valid_steps)):
                slope = call.get_float("slope")
                k.store(
                    value,
                    activate_value(k, k.let(k.to_float32(x[0, t, channel])), channel, None, None, slope),
                    0,
                )
            return value[0]

        def put(at: Any, c: Any, total: Any) -> Any:
            """Add bias and residual to a result, store and return it."""
            value = total if bias is None else total + bias[c]
            value = k.let(value if residual is None else value + k.to_float32(residual[0, at, c]))
            k.store(y, value, 0, at, c)
            return value

        def repeat(c: Any, total: Any) -> None:
            """Write the reflected first step, which repeats the second and is the first block of moments."""
            value = put(k.index(0), c, total)
            if moments is not None:
                zero, one = const(0.0, "float32"), const(1.0, "float32")
                for i, moment in enumerate((value, zero, zero, one)):
                    k.store(moments, moment, 0, i, c)

        def write(step: Any, column: Any, total: Any) -> Any:
            """Store and return a column of the convolution: a channel of its step and phase."""
            phase = k.let(column // width)
            c, at = k.let(column - phase * width), k.let(step * stride + phase)
            with ExitStack() as inside:
                if width != outputs:
                    inside.enter_context(k.when(c < outputs))
                value = put(at + lead, c, total)
                if lead:
                    with k.when(at == 1):
                        repeat(c, total)
            return value

        def shift(column: Any) -> Any:
            """Return the rows by which a column reads later: 1 for the second half of the phases."""
            late = column // width + stride // 2 >= stride
            return select(late, const(1, "int32"), const(0, "int32"))

        layer = ConvLayer(
            weight=weight,
            channels=channels,
            taps=2,
            dilation=1,
            steps=k.index(x.shape[1]),
            valid_steps=valid_steps,
            outputs=stride * width,
            read=read,
            write=write,
            moments=moments,
        )
        tolerant = bool(call.attributes["tolerant"])
        convolve(k, tile, layer, shift=shift, phases=stride, leading=lead, tolerant=tolerant)
    return k.build()


@semantic_op(
    _infer_shape,
    cpu=OpImplementation(_build_cpu_kernel, _get_packings),
    gpu=OpImplementation(
        _build_gpu_kernel, _get_gpu_packings, _can_emit_gpu_moments, halves=_list_gpu_float16
    ),
    flops=lambda call: 4 * int(call.shapes["x"][2]) * int(call.result[2]),
)
def conv_transpose1d(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    residual: Tensor | None = None,
    length: Tensor | None = None,
    *,
    stride: int,
    slope: float = 1.0,
    lead: bool = False,
    tolerant: bool = False,
) -> Tensor:
    """Compute conv_transpose(leaky_relu(x)) + bias (+ residual) with 2*stride taps and stride/2 padding.

    Args:
        x: (1, T, I).
        weight: (I, O, 2*stride).
        bias: (O,).
        residual: Like the result.
        length: int64 (1,), valid steps of x.
        stride: Steps of the result for each step of x.
        slope: Of the leaky ReLU, 1.0 for none.
        lead: Whether the result starts with one more step, the reflection of its second (ReflectionPad1d((1,
            0))).
        tolerant: See `conv1d`.

    Returns:
        (1, T*stride + lead, O).
    """
    y = activate(crop_valid(x, length), None, None, slope).transpose(1, 2)
    y = F.conv_transpose1d(y, weight, bias, stride, padding=stride // 2)
    if lead:
        y = F.pad(y, (1, 0), mode="reflect")
    y = y.transpose(1, 2)
    if residual is not None:
        y = y + residual[:, : y.shape[1]]
    return pad_steps(y, x.shape[1] * stride + int(lead))
