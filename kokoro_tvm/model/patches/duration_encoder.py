"""Patch of the prosody predictor's text encoder: LSTMs and adaptive layer norms, the style at every step."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from kokoro_tvm.model.patches import method_patch


def _forward(self: nn.Module, x: Tensor, style: Tensor, length: Tensor | None = None) -> Tensor:
    """Encode x (1, T, C) with the style (1, S) to (1, T, C + S).

    The stock method takes (1, C, T), and a mask. Needs the patches lstm and ada_layer_norm.
    """
    style_steps = style.unsqueeze(1).expand(1, x.shape[1], style.shape[1])
    x = torch.cat([x, style_steps], dim=2)
    for block in self.lstms:
        if isinstance(block, nn.LSTM):
            x = block(x, length)
        else:
            x = torch.cat([block(x, style, length), style_steps], dim=2)
    return x


PATCH = method_patch("duration_encoder", {"kokoro.modules.DurationEncoder.forward": _forward})
