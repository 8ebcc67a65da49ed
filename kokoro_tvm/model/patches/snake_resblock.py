"""Patch of the generator's residual block: dilated convolutions after AdaIN and Snake."""

from __future__ import annotations

from torch import Tensor, nn

from kokoro_tvm.model.patches import method_patch
from kokoro_tvm.model.patches.base.layers import apply_conv1d, compute_adain


def _forward(
    self: nn.Module,
    x: Tensor,
    style: Tensor,
    length: Tensor | None = None,
    gain: float = 1.0,
    added: Tensor | None = None,
) -> Tensor:
    """Compute gain * block(x, style) + added for x and added (1, T, C), style (1, S).

    Needs the patch weight_norm.
    """
    # The generator averages its blocks with `gain` and `added`.
    stages = list(
        zip(self.convs1, self.convs2, self.adain1, self.adain2, self.alpha1, self.alpha2, strict=True)
    )
    for index, (conv1, conv2, adain1, adain2, alpha1, alpha2) in enumerate(stages):
        y = _apply_conv(conv1, x, adain1, style, alpha1, length)
        if index < len(stages) - 1:
            x = _apply_conv(conv2, y, adain2, style, alpha2, length, residual=x)
    return _apply_conv(conv2, y, adain2, style, alpha2, length, residual=x, gain=gain, added=added)


def _apply_conv(
    conv: nn.Conv1d,
    x: Tensor,
    adain: nn.Module,
    style: Tensor,
    alpha: Tensor,
    length: Tensor | None,
    residual: Tensor | None = None,
    gain: float = 1.0,
    added: Tensor | None = None,
) -> Tensor:
    """Convolve x after AdaIN and Snake."""
    return apply_conv1d(
        conv,
        x,
        length,
        norm=compute_adain(adain, x, style, length),
        alpha=alpha.reshape(-1),
        residual=residual,
        added=added,
        gain=gain,
        tolerant=True,
    )


PATCH = method_patch("snake_resblock", {"kokoro.istftnet.AdaINResBlock1.forward": _forward})
