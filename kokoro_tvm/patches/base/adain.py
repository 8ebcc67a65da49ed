"""AdaIN as the coefficients of the convolution that follows it."""

from __future__ import annotations

from torch import Tensor, nn

from kokoro_tvm import ops

__all__ = ["coefficients"]


def coefficients(adain: nn.Module, x: Tensor, style: Tensor, length: Tensor | None) -> Tensor:
    """(mean, scale, shift), (3, C), of a stock `AdaIN1d` for x (1, T, C) and style (1, S)."""
    norm = adain.norm
    return ops.adain_coefficients(
        ops.moments(x, length),
        style,
        adain.fc.weight,
        adain.fc.bias,
        norm.weight,
        norm.bias,
        eps=norm.eps,
    )
