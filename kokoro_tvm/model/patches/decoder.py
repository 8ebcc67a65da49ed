"""Patch of the decoder: residual blocks mix text, pitch and energy, then the generator speaks."""

from __future__ import annotations

from torch import Tensor, nn

from kokoro_tvm import kernels as ops
from kokoro_tvm.model.patches import method_patch
from kokoro_tvm.model.patches.base.layers import apply_conv1d
from kokoro_tvm.model.patches.base.length import scale_length


def _forward(
    self: nn.Module,
    asr: Tensor,
    f0: Tensor,
    n: Tensor,
    style: Tensor,
    noise: Tensor,
    length: Tensor | None = None,
) -> Tensor:
    """Return samples (1, samples) for asr (1, C, F), f0 and n (1, 2F), style (1, S), noise (1, samples).

    `length` is in frames. Needs the patches weight_norm, adain_resblock and generator, and those of the
    generator.
    """
    asr = asr.transpose(1, 2)
    pitch = _halve_rate(self.F0_conv, f0, length)
    energy = _halve_rate(self.N_conv, n, length)
    residual = apply_conv1d(self.asr_res[0], asr, length, tolerant=True)
    x = self.encode(ops.join(asr, pitch, energy, length=length), style, length, tolerant=True)
    mixing = True
    for block in self.decode:
        if mixing:
            x = ops.join(x, residual, pitch, energy, length)
        x = block(x, style, length, tolerant=True)
        if block.upsample_type != "none":
            mixing = False
            length = scale_length(length, 2)
    return self.generator(x, style, f0, noise, length)


def _halve_rate(conv: nn.Conv1d, curve: Tensor, length: Tensor | None) -> Tensor:
    """Convolve a curve of half frames (1, 2F) to frames (1, F, 1); `length` is in frames."""
    return apply_conv1d(conv, curve.unsqueeze(2), scale_length(length, conv.stride[0]))


PATCH = method_patch("decoder", {"kokoro.istftnet.Decoder.forward": _forward})
