"""Patch of the vocoder: features, pitch and noise to samples."""

from __future__ import annotations

from torch import Tensor, nn

from kokoro_tvm import kernels as ops
from kokoro_tvm.common.errors import BuildError
from kokoro_tvm.model.patches import method_patch
from kokoro_tvm.model.patches.base.layers import apply_conv1d
from kokoro_tvm.model.patches.base.length import scale_length


def _forward(
    self: nn.Module, x: Tensor, style: Tensor, f0: Tensor, noise: Tensor, length: Tensor | None = None
) -> Tensor:
    """Return samples (1, samples) for x (1, N, C), style (1, S), f0 (1, N) in Hz, noise (1, samples).

    `length` is in steps of x. The stock method returns (1, 1, samples). Needs the patches weight_norm,
    snake_resblock, harmonic_source and stft.
    """
    hop = self.stft.hop_length
    rate = self.m_source.l_sin_gen.upsample_scale
    source = self.m_source(f0, noise, length)
    spectrum = self.stft.transform(source, scale_length(length, rate))
    spectrum_length = scale_length(length, rate // hop, plus=1)
    for i in range(self.num_upsamples):
        lead = i == self.num_upsamples - 1
        excitation = apply_conv1d(self.noise_convs[i], spectrum, spectrum_length)
        after = scale_length(length, self.ups[i].stride[0], plus=int(lead))
        excitation = self.noise_res[i](excitation, style, after)
        x = _upsample(self.ups[i], x, excitation, length, lead)
        length = after
        x = _average(self, i, x, style, length)
    return self.stft.inverse(apply_conv1d(self.conv_post, x, length, slope=0.01), length)


def _upsample(
    conv: nn.ConvTranspose1d, x: Tensor, residual: Tensor, length: Tensor | None, lead: bool
) -> Tensor:
    """Apply the transposed convolution after a leaky ReLU; the last one starts with a reflected step.

    Raises BuildError for other strides and taps.
    """
    taps, stride, padding = conv.kernel_size[0], conv.stride[0], conv.padding[0]
    if taps != 2 * stride or padding != stride // 2 or stride % 2 or conv.output_padding[0]:
        raise BuildError(
            f"patch generator supports upsampling by an even stride with twice as many taps, not {taps} "
            f"taps, stride {stride}, padding {padding}"
        )
    return ops.conv_transpose1d(
        x, conv.weight, conv.bias, residual, length, stride=stride, slope=0.1, lead=lead, tolerant=True
    )


def _average(self: nn.Module, stage: int, x: Tensor, style: Tensor, length: Tensor | None) -> Tensor:
    """Average the residual blocks of a stage: each adds its share to the sum of the previous ones."""
    count = self.num_kernels
    total = None
    for block in self.resblocks[stage * count : (stage + 1) * count]:
        total = block(x, style, length, gain=1 / count, added=total)
    return total


PATCH = method_patch("generator", {"kokoro.istftnet.Generator.forward": _forward})
