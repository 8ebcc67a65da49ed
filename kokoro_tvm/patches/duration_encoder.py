"""The prosody predictor's text encoder: LSTMs and styled layer norms in turn, the style beside every step."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from kokoro_tvm.patches._patch import method_patch

__all__ = ["PATCH"]


def _forward(self: nn.Module, x: Tensor, style: Tensor, length: Tensor | None = None) -> Tensor:
    """x (1, C, T), style (1, S) -> (1, C + S, T). The stock one gives (1, T, C + S) and takes a mask besides.

    Needs the patches lstm and ada_layer_norm.
    """
    beside = style.unsqueeze(-1).expand(1, style.shape[1], x.shape[2])
    x = torch.cat([x, beside], dim=1)
    for block in self.lstms:
        if isinstance(block, nn.LSTM):
            x = block(x, length)
        else:
            x = torch.cat([block(x, style, length), beside], dim=1)
    return x


PATCH = method_patch("duration_encoder", 1, {"kokoro.modules.DurationEncoder.forward": _forward})
