"""The semantic operations of Kokoro, one per file: torch reference and kernels."""

from __future__ import annotations

from kokoro_tvm.ops.adain_coefficients import adain_coefficients
from kokoro_tvm.ops.attention import attention
from kokoro_tvm.ops.conv1d import conv1d
from kokoro_tvm.ops.conv_transpose1d import conv_transpose1d
from kokoro_tvm.ops.embedding import embedding
from kokoro_tvm.ops.gelu import gelu
from kokoro_tvm.ops.harmonic_source import harmonic_source
from kokoro_tvm.ops.istft import istft
from kokoro_tvm.ops.join import join
from kokoro_tvm.ops.layer_norm import layer_norm
from kokoro_tvm.ops.linear import linear
from kokoro_tvm.ops.lstm import lstm
from kokoro_tvm.ops.moments import moments
from kokoro_tvm.ops.normal_noise import normal_noise
from kokoro_tvm.ops.project import project
from kokoro_tvm.ops.stft import stft
from kokoro_tvm.ops.upsample_pool import upsample_pool

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
