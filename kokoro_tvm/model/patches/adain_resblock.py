"""Patch of the residual block of pitch, energy and decoder: two convolutions after AdaIN, some upsampling."""

from __future__ import annotations

import math

from torch import Tensor, nn

from kokoro_tvm import kernels as ops
from kokoro_tvm.model.patches import method_patch
from kokoro_tvm.model.patches.base.layers import apply_conv1d, compute_adain
from kokoro_tvm.model.patches.base.length import scale_length


def _forward(
    self: nn.Module, x: Tensor, style: Tensor, length: Tensor | None = None, tolerant: bool = False
) -> Tensor:
    """Compute the block: x (1, T, I) and style (1, S) -> (1, T, O), or (1, 2T, O) if the block upsamples.

    Needs the patch weight_norm. `length` is in steps of x. `tolerant`, see `kernels.conv1d`, is true in the
    decoder and false for pitch and energy.
    """
    # The 1x1 convolution of the shortcut runs before the upsampling instead of after it: with nearest
    # neighbours the result is the same at half the work.
    slope = self.actv.negative_slope
    norm = compute_adain(self.norm1, x, style, length)
    shortcut = apply_conv1d(self.conv1x1, x, length, tolerant=tolerant) if self.learned_sc else x
    repeat = 1  # steps of the result that a step of the shortcut counts for (nearest neighbours)
    if self.upsample_type == "none":
        y = apply_conv1d(self.conv1, x, length, norm=norm, slope=slope, tolerant=tolerant)
    else:
        y = ops.upsample_pool(x, self.pool.weight, self.pool.bias, norm, length, slope=slope)
        length, repeat = scale_length(length, 2), 2
        y = apply_conv1d(self.conv1, y, length, tolerant=tolerant)
    return apply_conv1d(
        self.conv2,
        y,
        length,
        norm=compute_adain(self.norm2, y, style, length),
        residual=shortcut,
        slope=slope,
        gain=math.sqrt(0.5),
        repeat=repeat,
        tolerant=tolerant,
    )


PATCH = method_patch("adain_resblock", {"kokoro.istftnet.AdainResBlk1d.forward": _forward})
