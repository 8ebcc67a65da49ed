"""Patch of the text encoder: embedding, convolutions with layer norm and leaky ReLU, an LSTM."""

from __future__ import annotations

from torch import Tensor, nn

from kokoro_tvm import kernels as ops
from kokoro_tvm.model.patches import method_patch
from kokoro_tvm.model.patches.base.layers import apply_conv1d


def _forward(self: nn.Module, tokens: Tensor, length: Tensor | None = None) -> Tensor:
    """Encode tokens int64 (1, T) to (1, T, C).

    The stock method returns (1, C, T), and takes lengths and a mask. Needs the patches weight_norm and lstm.
    """
    x = ops.embedding(self.embedding.weight, tokens)
    for conv, norm, activation, _dropout in self.cnn:
        x = apply_conv1d(conv, x, length)
        x = ops.layer_norm(x, norm.gamma, norm.beta, length, eps=norm.eps, slope=activation.negative_slope)
    return self.lstm(x, length)


PATCH = method_patch("text_encoder", {"kokoro.modules.TextEncoder.forward": _forward})
