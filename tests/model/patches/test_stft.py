from __future__ import annotations

import math

import pytest
import torch
from torch import nn

from kokoro_tvm.common.errors import BuildError

from .support import DTYPES, assert_masked, assert_same, patched, random, stock

N_FFT, HOP = 20, 5


def make(window: int = N_FFT) -> nn.Module:
    from kokoro.istftnet import TorchSTFT

    return TorchSTFT(N_FFT, HOP, window)


def stft(dtype: torch.dtype, window: int = N_FFT) -> nn.Module:
    """Create the stock module; its window is a plain attribute, which `Module.to` does not move."""
    module = stock(lambda: make(window), dtype)
    module.window = torch.hann_window(window, dtype=dtype)
    return module


@DTYPES
@pytest.mark.parametrize("samples", [15, 20, 300])
def test_stft_patch_matches_stock_transform(dtype: torch.dtype, samples: int) -> None:
    module = stft(dtype)
    x = random(1, samples, dtype=dtype)
    magnitude, phase = module.transform(x)
    with patched(["stft"], module, dtype):
        actual = module.transform(x)
    bins = N_FFT // 2 + 1
    assert_same(actual[..., :bins], magnitude.transpose(1, 2))
    # As points on the circle: -pi and pi are one phase, and a phase is as sure as its magnitude is large.
    for function in (torch.sin, torch.cos):
        want = (function(phase) * magnitude).transpose(1, 2)
        assert_same(function(actual[..., bins:]) * magnitude.transpose(1, 2), want)


@DTYPES
def test_stft_patch_phase_of_dc_and_nyquist_is_zero_or_pi(dtype: torch.dtype) -> None:
    module = stft(dtype)
    with patched(["stft"], module, dtype):
        phase = module.transform(random(1, 3000, dtype=dtype))[..., N_FFT // 2 + 1 :]
    ends = phase[..., [0, -1]]
    assert set(ends.flatten().tolist()) == {0.0, torch.tensor(math.pi, dtype=dtype).item()}
    assert not torch.signbit(ends).any()


@DTYPES
@pytest.mark.parametrize("frames", [4, 5, 61])
def test_stft_patch_matches_stock_inverse(dtype: torch.dtype, frames: int) -> None:
    module = stft(dtype)
    bins = N_FFT // 2 + 1
    x = random(1, frames, N_FFT + 2, dtype=dtype)
    stock_x = x.transpose(1, 2)
    want = module.inverse(torch.exp(stock_x[:, :bins]), torch.sin(stock_x[:, bins:])).squeeze(1)
    with patched(["stft"], module, dtype):
        assert_same(module.inverse(x), want)


@DTYPES
@pytest.mark.parametrize("length", [15, 60, 95])
def test_stft_patch_masks_transform(dtype: torch.dtype, length: int) -> None:
    module = stft(dtype)
    x = random(1, 100, dtype=dtype)
    with patched(["stft"], module, dtype):
        want = module.transform(x[:, :length])
        results = []
        for fill in (torch.nan, 1e30, 0.5):
            x[:, length:] = fill
            results.append(module.transform(x, torch.tensor([length]))[:, : length // HOP + 1])
    assert_same(results[0], want)
    assert all(torch.equal(result, results[0]) for result in results)


@DTYPES
@pytest.mark.parametrize("length", [4, 20])
def test_stft_patch_masks_inverse(dtype: torch.dtype, length: int) -> None:
    module = stft(dtype)
    with patched(["stft"], module, dtype):
        assert_masked(module.inverse, [random(1, 21, N_FFT + 2, dtype=dtype)], length, factor=HOP, plus=-HOP)


def test_stft_patch_rejects_shorter_windows() -> None:
    module = stft(torch.float32, window=10)
    with patched(["stft"], module, torch.float32), pytest.raises(BuildError, match=r"\(20\), not 10"):
        module.transform(random(1, 100, dtype=torch.float32))
