"""The semantic operations of Kokoro, one per file: torch reference and kernels."""

from __future__ import annotations

from kokoro_tvm.kernels.adain_coefficients import adain_coefficients
from kokoro_tvm.kernels.attention import attention
from kokoro_tvm.kernels.conv1d import conv1d
from kokoro_tvm.kernels.conv_transpose1d import conv_transpose1d
from kokoro_tvm.kernels.embedding import embedding
from kokoro_tvm.kernels.gelu import gelu
from kokoro_tvm.kernels.harmonic_source import harmonic_source
from kokoro_tvm.kernels.istft import istft
from kokoro_tvm.kernels.join import join
from kokoro_tvm.kernels.layer_norm import layer_norm
from kokoro_tvm.kernels.linear import linear
from kokoro_tvm.kernels.lstm import lstm
from kokoro_tvm.kernels.moments import moments
from kokoro_tvm.kernels.normal_noise import normal_noise
from kokoro_tvm.kernels.project import project
from kokoro_tvm.kernels.stft import stft
from kokoro_tvm.kernels.upsample_pool import upsample_pool

__all__ = [
    "adain_coefficients",
    "attention",
    "conv1d",
    "conv_transpose1d",
    "embedding",
    "gelu",
    "harmonic_source",
    "istft",
    "join",
    "layer_norm",
    "linear",
    "lstm",
    "moments",
    "normal_noise",
    "project",
    "stft",
    "upsample_pool",
]
