"""The residual block of pitch, energy and decoder: two convolutions behind AdaIN, some at twice the rate."""

from __future__ import annotations

import math

from torch import Tensor, nn

from kokoro_tvm import ops
from kokoro_tvm.patches.base.adain import coefficients
from kokoro_tvm.patches.base.length import scaled
from kokoro_tvm.patches.base.patch import method_patch

__all__ = ["PATCH"]


def _forward(
    self: nn.Module, x: Tensor, style: Tensor, length: Tensor | None = None, tolerant: bool = False
) -> Tensor:
    """x (1, T, I), style (1, S) -> (1, T, O), or (1, 2T, O) where the block upsamples; length in steps of x.
    tolerant: see `ops.conv1d`; the decoder is, pitch and energy are not.

    Needs the patch weight_norm. The 1x1 convolution of the shortcut runs before the upsampling instead of
    after: nearest neighbours make the numbers the same at half the work.
    """
    slope = self.actv.negative_slope
    norm = coefficients(self.norm1, x, style, length)
    shortcut = ops.conv1d(x, self.conv1x1.weight, length=length, tolerant=tolerant) if self.learned_sc else x
    if self.upsample_type == "none":
        y = _conv(self.conv1, x, norm, length, slope, tolerant=tolerant)
    else:
        y = ops.upsample_pool(x, self.pool.weight, self.pool.bias, norm, length, slope=slope)
        length = scaled(length, 2)
        y = _conv(self.conv1, y, None, length, 1.0, tolerant=tolerant)
    norm = coefficients(self.norm2, y, style, length)
    # Nearest neighbours: a step of the shortcut counts for two.
    repeat = 1 if self.upsample_type == "none" else 2
    return _conv(
        self.conv2,
        y,
        norm,
        length,
        slope,
        residual=shortcut,
        gain=math.sqrt(0.5),
        repeat=repeat,
        tolerant=tolerant,
    )


def _conv(
    conv: nn.Conv1d,
    x: Tensor,
    norm: Tensor | None,
    length: Tensor | None,
    slope: float,
    residual: Tensor | None = None,
    gain: float = 1.0,
    repeat: int = 1,
    tolerant: bool = False,
) -> Tensor:
    return ops.conv1d(
        x,
        conv.weight,
        conv.bias,
        norm,
        None,
        residual,
        length=length,
        padding=conv.padding[0],
        slope=slope,
        gain=gain,
        repeat=repeat,
        tolerant=tolerant,
    )


PATCH = method_patch("adain_resblock", {"kokoro.istftnet.AdainResBlk1d.forward": _forward})
