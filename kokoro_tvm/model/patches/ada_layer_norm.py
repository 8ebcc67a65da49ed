"""Patch of the adaptive layer norm over the channels, whose scale and shift come from the style."""

from __future__ import annotations

from torch import Tensor, nn

from kokoro_tvm import kernels as ops
from kokoro_tvm.model.patches import method_patch


def _forward(self: nn.Module, x: Tensor, style: Tensor, length: Tensor | None = None) -> Tensor:
    """Normalize x (1, T, C) with the style (1, S)."""
    h = ops.linear(style, self.fc.weight, self.fc.bias).reshape(2, self.channels)
    return ops.layer_norm(x, 1 + h[0], h[1], length, eps=self.eps)


PATCH = method_patch("ada_layer_norm", {"kokoro.modules.AdaLayerNorm.forward": _forward})
