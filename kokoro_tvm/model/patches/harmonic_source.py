"""Patch of the excitation: noise is an input, and the phase is counted in cycles of float64."""

from __future__ import annotations

from torch import Tensor, nn

from kokoro_tvm import kernels as ops
from kokoro_tvm.model.patches import method_patch


def _forward(self: nn.Module, f0: Tensor, noise: Tensor, length: Tensor | None = None) -> Tensor:
    """Return the excitation (1, N*upsample) of f0 (1, N) in Hz and noise (1, N*upsample), standard normal.

    The stock method takes f0 upsampled, (1, samples, 1), draws its noise, and returns two more values that
    nobody reads.
    """
    sines = self.l_sin_gen
    return ops.harmonic_source(
        f0,
        noise,
        self.l_linear.weight,
        self.l_linear.bias,
        length,
        upsample=int(sines.upsample_scale),
        sample_rate=int(sines.sampling_rate),
        amplitude=float(sines.sine_amp),
        noise_std=float(sines.noise_std),
        voiced_threshold=float(sines.voiced_threshold),
    )


PATCH = method_patch("harmonic_source", {"kokoro.istftnet.SourceModuleHnNSF.forward": _forward})
