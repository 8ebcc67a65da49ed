from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn.utils import weight_norm

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

PATCHES = [
    "weight_norm",
    "adain_resblock",
    "snake_resblock",
    "harmonic_source",
    "stft",
    "generator",
    "decoder",
]
CHANNELS, SAMPLES = 6, 600


def make() -> nn.Module:
    """Create the stock decoder with smaller parts in place of its fixed 1024 and 512 channels."""
    from kokoro.istftnet import AdainResBlk1d, Decoder, Generator

    decoder = Decoder.__new__(Decoder)
    nn.Module.__init__(decoder)
    decoder.encode = AdainResBlk1d(CHANNELS + 2, 10, STYLE)
    decoder.decode = nn.ModuleList(
        [
            AdainResBlk1d(10 + 2 + 4, 10, STYLE),
            AdainResBlk1d(10 + 2 + 4, 8, STYLE, upsample=True),
        ]
    )
    decoder.F0_conv = weight_norm(nn.Conv1d(1, 1, 3, stride=2, padding=1))
    decoder.N_conv = weight_norm(nn.Conv1d(1, 1, 3, stride=2, padding=1))
    decoder.asr_res = nn.Sequential(weight_norm(nn.Conv1d(CHANNELS, 4, 1)))
    decoder.generator = Generator(STYLE, [3, 7], [10, 6], 8, [[1, 3, 5], [1, 3, 5]], [20, 12], 20, 5)
    return decoder


def build(dtype: torch.dtype) -> nn.Module:
    decoder = stock(make, dtype)
    decoder.generator.stft.window = torch.hann_window(20, dtype=dtype)
    decoder.generator.conv_post.weight_g.data *= 0.2
    return decoder


def inputs(frames: int, dtype: torch.dtype, *channels: int) -> list[torch.Tensor]:
    f0 = 150 + 50 * torch.sin(torch.arange(2 * frames, dtype=dtype))[None]
    f0[:, 1:3] = 0
    noise = random(1, SAMPLES * frames, *channels, dtype=dtype, seed=3)
    return [random(1, frames, CHANNELS, dtype=dtype), f0, random(1, 2 * frames, dtype=dtype, seed=4), noise]


@pytest.mark.parametrize("frames", [2, 3, 6])
def test_decoder_matches_stock(frames: int) -> None:
    dtype = torch.float64
    decoder = build(dtype)
    asr, f0, n, noise = inputs(frames, dtype, 9)
    style = random(1, STYLE, dtype=dtype, seed=2)
    stft = decoder.generator.stft
    with patched([], decoder, dtype), FixedNoise(noise), plus_pi(stft), torch.random.fork_rng(devices=[]):
        want = decoder(asr.transpose(1, 2), f0, n, style).squeeze(1)
    noise = projected(noise, decoder.generator.m_source)
    with patched(PATCHES, decoder, dtype), plus_pi(stft):
        assert_same(decoder(asr.transpose(1, 2), f0, n, style, noise), want, tolerance=1e-6)


@DTYPES
@pytest.mark.parametrize("length", [1, 2])
def test_decoder_masks_invalid_steps(dtype: torch.dtype, length: int) -> None:
    decoder = build(dtype)
    style = random(1, STYLE, dtype=dtype, seed=2)
    with patched(PATCHES, decoder, dtype):
        assert_masked(
            lambda asr, f0, n, noise, length: decoder(asr.transpose(1, 2), f0, n, style, noise, length),
            inputs(3, dtype),
            length,
            factor=SAMPLES,
        )
