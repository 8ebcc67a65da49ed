"""Stock layers as semantic operations: a convolution, and the AdaIN before it."""

from __future__ import annotations

from torch import Tensor, nn

from kokoro_tvm import kernels as ops


def compute_adain(adain: nn.Module, x: Tensor, style: Tensor, length: Tensor | None) -> Tensor:
    """Compute (mean, scale, shift), (3, C), of a stock `AdaIN1d` for x (1, T, C) and style (1, S)."""
    norm = adain.norm
    return ops.adain_coefficients(
        ops.moments(x, length), style, adain.fc.weight, adain.fc.bias, norm.weight, norm.bias, eps=norm.eps
    )


def apply_conv1d(
    conv: nn.Conv1d,
    x: Tensor,
    length: Tensor | None,
    *,
    norm: Tensor | None = None,
    alpha: Tensor | None = None,
    residual: Tensor | None = None,
    added: Tensor | None = None,
    slope: float = 1.0,
    gain: float = 1.0,
    repeat: int = 1,
    tolerant: bool = False,
) -> Tensor:
    """Call `kernels.conv1d` with weight, bias, stride, padding and dilation of a stock layer."""
    return ops.conv1d(
        x,
        conv.weight,
        conv.bias,
        norm,
        alpha,
        residual,
        added,
        length,
        stride=conv.stride[0],
        padding=conv.padding[0],
        dilation=conv.dilation[0],
        slope=slope,
        gain=gain,
        repeat=repeat,
        tolerant=tolerant,
    )
