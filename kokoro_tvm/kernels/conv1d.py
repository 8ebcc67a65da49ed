"""Convolution over time with its neighbours in Kokoro: activation before, residual and gain after."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import torch.nn.functional as F
from torch import Tensor
from tvm import tirx

from kokoro_tvm.common.errors import BuildError
from kokoro_tvm.kernels.base.expressions import ceildiv, logical_and
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
from kokoro_tvm.kernels.cpu.conv_plan import ConvPlan, fold_stride, packing
from kokoro_tvm.kernels.cpu.kernel import CpuKernel
from kokoro_tvm.kernels.gpu import conv as gpu_conv
from kokoro_tvm.kernels.gpu import filtered, matrix
from kokoro_tvm.kernels.gpu.conv import Tile
from kokoro_tvm.kernels.gpu.filtered import FilteredTile
from kokoro_tvm.kernels.gpu.kernel import GpuKernel
from kokoro_tvm.kernels.gpu.layer import ConvLayer, activate_value, select_weight_dtype
from kokoro_tvm.kernels.gpu.matrix import MatrixTile
from kokoro_tvm.kernels.moments import FEWEST_STEPS


def _infer_shape(*, x: Shape, weight: Shape, stride: int, padding: int, dilation: int, **_: Any) -> Shape:
    """Return the extents of the result: (1, T', O)."""
    taps = weight[2] if len(weight) == 3 else 1
    return (1, (x[1] + 2 * padding - dilation * (taps - 1) - 1) // stride + 1, weight[0])


def _count_taps(call: OpCall) -> int:
    """Return the taps of the weight, 1 if it has no axis of taps."""
    return int(call.shapes["weight"][2]) if len(call.shapes["weight"]) == 3 else 1


def plan_of(call: OpCall) -> ConvPlan:
    """Return the sizes of the CPU kernel of a call.

    Raises:
        BuildError: No kernel exists for the call's tuned choice.
    """
    stride, dilation, taps = call.get_int("stride"), call.get_int("dilation"), _count_taps(call)
    channels, outputs = int(call.shapes["x"][2]) * stride, int(call.result[2])
    tolerant = bool(call.attributes["tolerant"])
    folded_taps, choice = ceildiv(taps, stride), call.choice
    plan = ConvPlan(channels, outputs, folded_taps, dilation, call.features, tolerant, stride, choice=choice)
    if choice is not None and not plan.allows(plan.filtering):
        raise BuildError(
            f"the schedule gives {_schedule_key(call)!r} F({choice.outputs}, {choice.taps}), "
            "for which there is no kernel: take it out of the file in recipes/schedules"
        )
    return plan


def _schedule_key(call: OpCall) -> str | None:
    """Return the key of a layer in a schedule: what decides its speed, which is neither name nor length."""
    if not call.attributes["tolerant"] or call.get_int("stride") > 1:
        return None
    plan = plan_of(replace(call, choice=None))
    return (
        f"conv1d {plan.channels}->{plan.outputs} k{plan.taps} d{plan.dilation} {plan.operand.name} "
        f"{plan.features.lanes}x{plan.features.registers}"
    )


def _build_cpu_kernel(call: OpCall) -> Any:
    plan, taps = plan_of(call), _count_taps(call)
    stride, padding = call.get_int("stride"), call.get_int("padding")
    if stride > 1 and plan.dilation > 1:
        raise NotImplementedError("conv1d: stride and dilation together have no kernel")
    k = CpuKernel("conv1d", plan.features.lanes)
    with k:
        x = k.param("x", call.shapes["x"])
        weight = k.param("weight", plan.packed_shape, plan.operand.stored)
        bias, norm = call.optional(k, "bias"), call.optional(k, "norm")
        alpha, residual = call.optional(k, "alpha"), call.optional(k, "residual")
        added = call.optional(k, "added")
        y, valid_steps = call.declare_result(k, x)
        moments = (y, k.param("moments", call.moments)) if call.moments is not None else None
        valid_steps = k.opaque(valid_steps)
        steps = k.opaque((valid_steps + (2 * padding - plan.dilation * (taps - 1) - 1)) // stride + 1)
        activation = Activation(norm, alpha, call.get_float("slope"), rounded=plan.operand.terms > 1)
        source = _conv.ConvInput(x, valid_steps, activation, stride)
        gain, repeat = call.get_float("gain"), call.get_int("repeat")
        write = _conv.ConvOutput(k, y, bias, residual, gain, repeat, added)
        is_even = plan.outputs % plan.columns == 0
        put = write.put if is_even else write.put_some
        _conv.emit(k, plan, weight, source, -padding, steps, put, moments=moments)
    return k.build()


def _get_packings(call: OpCall) -> Mapping[str, Packing]:
    plan, stride = plan_of(call), call.get_int("stride")

    def layout(weight: Any) -> Any:
        """Return a weight as (outputs, channels, taps), with the stride folded into the channels."""
        weight = weight.reshape(*weight.shape[:2], -1)
        return fold_stride(weight, stride) if stride > 1 else weight

    return {"weight": packing(f"convolution({plan.layout}, stride={stride})", plan, layout)}


def _can_emit_moments(call: OpCall) -> bool:
    """Return whether column blocks are whole and tiles long enough for a block of moments."""
    plan = plan_of(call)
    return plan.outputs % plan.columns == 0 and plan.tiles * plan.tile_steps >= FEWEST_STEPS


def _list_in_place(call: OpCall) -> frozenset[str]:
    """List the tensors whose memory the result may reuse."""
    # Every element is written once, from the elements at its own place.
    return frozenset({"residual", "added"} if call.get_int("repeat") == 1 else {"added"})


def _choose_gpu_tile(call: OpCall) -> Tile | FilteredTile | MatrixTile:
    """Choose the tile of the GPU kernel."""
    # Tolerant layers are filtered. If memory holds their weights as float16, filtering would lose too much:
    # matrix units multiply them, if there are any.
    stride, dilation, taps = call.get_int("stride"), call.get_int("dilation"), _count_taps(call)
    channels, outputs, workgroup = int(call.shapes["x"][2]), int(call.result[2]), call.features.workgroup
    if call.attributes["tolerant"] and stride == 1 and workgroup is not None:
        tile: FilteredTile | MatrixTile | None = None
        if select_weight_dtype(call) == "float32":
            tile = FilteredTile.choose(channels, outputs, taps, dilation, workgroup)
        elif call.features.matrices:
            tile = MatrixTile.choose(channels, outputs, taps, dilation, workgroup)
        if tile is not None:
            return tile
    folded_taps = ceildiv(taps, stride)
    return Tile.choose(channels * stride, outputs, folded_taps, dilation, moments=call.moments is not None)


def _can_emit_gpu_moments(call: OpCall) -> bool:
    return int(call.result[2]) % _choose_gpu_tile(call).outputs == 0


def _get_gpu_packings(call: OpCall) -> Mapping[str, Packing]:
    tile, stride, dtype = _choose_gpu_tile(call), call.get_int("stride"), select_weight_dtype(call)

    def layout(weight: Any) -> Any:
        weight = weight.reshape(*weight.shape[:2], -1)
        return tile.pack(fold_stride(weight, stride) if stride > 1 else weight, dtype)

    return {"weight": Packing(f"gpu_convolution({tile.layout}, stride={stride}, {dtype})", layout)}


def _list_gpu_float16(call: OpCall) -> frozenset[str]:
    """List the tensors that memory may hold as float16."""
    return frozenset({"x", "residual", "added", "y"} if call.attributes["tolerant"] else ())


def _build_gpu_kernel(call: OpCall) -> Any:
    """Build the GPU kernel; a stride is folded into the channels, see `fold_stride`.

    Raises NotImplementedError for a stride with dilation.
    """
    stride, padding = call.get_int("stride"), call.get_int("padding")
    dilation, taps, slope = call.get_int("dilation"), _count_taps(call), call.get_float("slope")
    repeat = call.get_int("repeat")
    if stride > 1 and dilation > 1:
        raise NotImplementedError("conv1d: stride and dilation together have no kernel")
    width, outputs = int(call.shapes["x"][2]), int(call.result[2])
    tile, folded_taps = _choose_gpu_tile(call), ceildiv(taps, stride)
    dtype = select_weight_dtype(call)
    packed = tile.pack(np.zeros((outputs, width * stride, folded_taps), np.float32), dtype)
    k = GpuKernel("conv1d", call.features)
    with k:
        x = k.param("x", call.shapes["x"], call.dtype("x"))
        weight = k.param("weight", packed.shape, str(packed.dtype))
        bias, norm = call.optional(k, "bias"), call.optional(k, "norm")
        alpha, residual = call.optional(k, "alpha"), call.optional(k, "residual")
        added = call.optional(k, "added")
        y, valid_steps = call.declare_result(k, x)
        moments = k.param("moments", call.moments) if call.moments is not None else None

        def read(row: Any, channel: Any) -> Any:
            """Return the normalized, activated input, 0 outside the valid steps."""
            t = k.let(row * stride + tirx.truncdiv(channel, width) - padding if stride > 1 else row - padding)
            c = k.let(tirx.truncmod(channel, width)) if stride > 1 else channel
            value = k.zeros()
            with k.when(logical_and(t >= 0, t < valid_steps)):
                k.store(value, activate_value(k, k.let(k.to_float32(x[0, t, c])), c, norm, alpha, slope), 0)
            return value[0]

        def write(step: Any, output: Any, total: Any) -> Any:
            """Finish, store and return a result."""
            value = total if bias is None else total + bias[output]
            value = value if residual is None else value + k.to_float32(residual[0, step // repeat, output])
            gain = call.get_float("gain")
            value = value if gain == 1.0 else value * k.real(gain)
            value = k.let(value if added is None else value + k.to_float32(added[0, step, output]))
            k.store(y, value, 0, step, output)
            return value

        layer = ConvLayer(
            weight=weight,
            channels=width * stride,
            taps=folded_taps,
            dilation=dilation,
            steps=k.index(y.shape[1]),
            valid_steps=(valid_steps + (2 * padding - dilation * (taps - 1) - 1)) // stride + 1,
            outputs=outputs,
            read=read,
            write=write,
            moments=moments,
        )
        if isinstance(tile, FilteredTile):
            filtered.convolve(k, tile, layer)
        elif isinstance(tile, MatrixTile):
            matrix.convolve(k, tile, layer)
        else:
            gpu_conv.convolve(k, tile, layer, tolerant=bool(call.attributes["tolerant"]))
    return k.build()


@semantic_op(
    _infer_shape,
    cpu=OpImplementation(
        _build_cpu_kernel, _get_packings, _can_emit_moments, _schedule_key, in_place=_list_in_place
    ),
    gpu=OpImplementation(
        _build_gpu_kernel, _get_gpu_packings, _can_emit_gpu_moments, halves=_list_gpu_float16
    ),
    flops=lambda call: 2 * int(call.shapes["x"][2]) * int(call.result[2]) * _count_taps(call),
)
def conv1d(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    norm: Tensor | None = None,
    alpha: Tensor | None = None,
    residual: Tensor | None = None,
    added: Tensor | None = None,
    length: Tensor | None = None,
    *,
    stride: int = 1,
    padding: int = 0,
    dilation: int = 1,
    slope: float = 1.0,
    gain: float = 1.0,
    repeat: int = 1,
    tolerant: bool = False,
) -> Tensor:
    """Compute gain * (conv(act(norm(x))) + bias + residual) + added.

    Beyond the valid part, act(norm(x)) counts as zero.

    Args:
        x: (1, T, I).
        weight: (O, I, K), or (O, I) for one tap.
        bias: (O,).
        norm: (3, I), see `adain_coefficients`.
        alpha: (I,), of the Snake activation; without it, leaky ReLU.
        residual: (1, T'/repeat, O).
        added: (1, T', O).
        length: int64 (1,), valid steps of x.
        stride: As in torch.
        padding: As in torch.
        dilation: As in torch.
        slope: Of the leaky ReLU, 1.0 for none.
        gain: Factor of the sum.
        repeat: Steps of the result that a step of the residual counts for.
        tolerant: Whether the kernel may trade a few bits for speed. Only layers whose errors are not
            integrated over the utterance may.

    Returns:
        (1, T', O).
    """
    y = activate(crop_valid(x, length), norm, alpha, slope)
    kernel = weight if weight.dim() == 3 else weight.unsqueeze(-1)
    y = F.conv1d(y.transpose(1, 2), kernel, bias, stride, padding, dilation).transpose(1, 2)
    if residual is not None:
        y = y + residual.repeat_interleave(repeat, dim=1)[:, : y.shape[1]]
    y = y * gain if added is None else y * gain + added[:, : y.shape[1]]
    _, steps, _ = _infer_shape(
        x=x.shape, weight=weight.shape, stride=stride, padding=padding, dilation=dilation
    )
    return pad_steps(y, steps)
