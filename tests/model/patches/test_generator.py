from __future__ import annotations

import pytest
import torch
from torch import nn

from kokoro_tvm.common.errors import BuildError

from .support import (
    DTYPES,
    STYLE,
    FixedNoise,
    assert_masked,
    assert_same,
    patched,
    plus_pi,
    projected,
    random,
    stock,
)

PATCHES = ["weight_norm", "snake_resblock", "harmonic_source", "stft", "generator"]
SAMPLES = 300


def make(taps: int = 12) -> nn.Module:
    from kokoro.istftnet import Generator

    return Generator(STYLE, [3, 7], [10, 6], 8, [[1, 3, 5], [1, 3, 5]], [20, taps], 20, 5)


def generator(dtype: torch.dtype) -> nn.Module:
    module = stock(make, dtype)
    module.stft.window = torch.hann_window(20, dtype=dtype)
    # The head's logarithms: random ones of the usual size would make a waveform of one spike.
    module.conv_post.weight_g.data *= 0.2
    return module


def inputs(steps: int, dtype: torch.dtype, *channels: int) -> list[torch.Tensor]:
    f0 = 150 + 50 * torch.sin(torch.arange(steps, dtype=dtype))[None]
    f0[:, 1:2] = 0
    return [random(1, steps, 8, dtype=dtype), f0, random(1, steps * SAMPLES, *channels, dtype=dtype, seed=3)]


@pytest.mark.parametrize("steps", [2, 3, 8])
def test_generator_matches_stock(steps: int) -> None:
    """Compare in float64 only, to 1e-6: phases of quiet bins magnify the stock excitation's error."""
    dtype = torch.float64
    module = generator(dtype)
    x, f0, noise = inputs(steps, dtype, 9)
    style = random(1, STYLE, dtype=dtype, seed=2)
    with (
        patched([], module, dtype),
        FixedNoise(noise),
        plus_pi(module.stft),
        torch.random.fork_rng(devices=[]),
    ):
        want = module(x.transpose(1, 2), style, f0).squeeze(1)
    with patched(PATCHES, module, dtype), plus_pi(module.stft):
        noise = projected(noise, module.m_source)
        assert_same(module(x, style, f0, noise), want, tolerance=1e-6)


@DTYPES
@pytest.mark.parametrize("length", [1, 3])
def test_generator_masks_invalid_steps(dtype: torch.dtype, length: int) -> None:
    module = generator(dtype)
    style = random(1, STYLE, dtype=dtype, seed=2)
    with patched(PATCHES, module, dtype):
        assert_masked(
            lambda x, f0, noise, n: module(x, style, f0, noise, n),
            inputs(4, dtype),
            length,
            SAMPLES,
        )


def test_generator_rejects_other_upsampling() -> None:
    module = stock(lambda: make(taps=10), torch.float32)
    x, f0, noise = inputs(2, torch.float32)
    with patched(PATCHES, module, torch.float32), pytest.raises(BuildError, match="not 10 taps, stride 6"):
        module(x, random(1, STYLE, dtype=torch.float32), f0, noise)
