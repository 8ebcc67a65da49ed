"""Patch of pitch and energy, at two values per frame."""

from __future__ import annotations

from collections.abc import Iterable

from torch import Tensor, nn

from kokoro_tvm import kernels as ops
from kokoro_tvm.model.patches import method_patch
from kokoro_tvm.model.patches.base.length import scale_length


def _f0n_train(
    self: nn.Module, x: Tensor, style: Tensor, length: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Predict pitch in Hz and energy, (1, 2F) each, from x (1, C, F) and style (1, S); `length` is in frames.

    Needs the patches weight_norm, lstm and adain_resblock.
    """
    x = self.shared(x.transpose(1, 2), length)
    return _predict_curve(self.F0, self.F0_proj, x, style, length), _predict_curve(
        self.N, self.N_proj, x, style, length
    )


def _predict_curve(
    blocks: Iterable[nn.Module], projection: nn.Conv1d, x: Tensor, style: Tensor, length: Tensor | None
) -> Tensor:
    """Predict a curve (1, 2F) from shared features x (1, F, C)."""
    for block in blocks:
        x = block(x, style, length)
        if block.upsample_type != "none":
            length = scale_length(length, 2)
    return ops.project(x, projection.weight, projection.bias, length)


PATCH = method_patch("f0n", {"kokoro.modules.ProsodyPredictor.F0Ntrain": _f0n_train})
