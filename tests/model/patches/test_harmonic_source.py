from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from .support import DTYPES, FixedNoise, assert_masked, patched, projected, random, stock


def make(rate: int = 24000, upsample: int = 300) -> nn.Module:
    from kokoro.istftnet import SourceModuleHnNSF

    return SourceModuleHnNSF(rate, upsample, harmonic_num=8, voiced_threshod=10)


def pitch(steps: int, dtype: torch.dtype) -> Tensor:
    """Return voiced and unvoiced stretches, 80 to 250 Hz, and steps at the threshold."""
    f0 = 165 + 80 * torch.sin(torch.arange(steps, dtype=dtype) / 5)
    f0[3:6] = 0.0
    f0[7:8] = 10.0
    return f0[None]


def run_stock(module: nn.Module, f0: Tensor, noise: Tensor, upsample: int) -> Tensor:
    with patched([], module, f0.dtype), FixedNoise(noise), torch.random.fork_rng(devices=[]):
        return module(f0.repeat_interleave(upsample, dim=1).unsqueeze(-1))[0].squeeze(-1)


@pytest.mark.parametrize("steps", [1, 2, 12, 40])
def test_harmonic_source_patch_matches_stock(steps: int) -> None:
    """Compare to 1e-8 only: the stock module keeps the noise's amplitude in float32, whatever its dtype."""
    module = stock(make, torch.float64)
    f0, noise = pitch(steps, torch.float64), random(1, steps * 300, 9, dtype=torch.float64)
    want = run_stock(module, f0, noise, 300)
    with patched(["harmonic_source"], module, torch.float64):
        actual = module(f0, projected(noise, module))
    assert actual.shape == (1, steps * 300)
    assert (actual - want).abs().max() < 1e-8


def test_harmonic_source_patch_matches_stock_in_float32() -> None:
    module = stock(make, torch.float32)
    f0, noise = pitch(12, torch.float32), random(1, 3600, 9, dtype=torch.float32)
    want = run_stock(module, f0, noise, 300)
    with patched(["harmonic_source"], module, torch.float32):
        assert (module(f0, projected(noise, module)) - want).abs().max() < 1e-4


def test_harmonic_source_patch_keeps_phase_for_100_seconds() -> None:
    """Use a tenth of the sample rate, so that 100 s are cheap; the phase is as large as at the full rate."""
    steps, upsample, rate = 8000, 30, 2400
    truth = stock(lambda: make(rate, upsample), torch.float64)
    module = stock(lambda: make(rate, upsample), torch.float32)
    f0, noise = pitch(steps, torch.float32), torch.zeros(1, steps * upsample, 9)
    want = run_stock(truth, f0.double(), noise.double(), upsample)
    with patched(["harmonic_source"], module, torch.float32):
        actual = module(f0, noise[..., 0]).double()
    tail = slice(-upsample * 800, None)
    assert (actual - want)[:, tail].abs().max() < 1e-5
    assert (run_stock(module, f0, noise, upsample).double() - want)[:, tail].abs().max() > 1e-3, (
        "stock is as good"
    )


@DTYPES
@pytest.mark.parametrize("length", [1, 2, 9])
def test_harmonic_source_patch_masks_invalid_steps(dtype: torch.dtype, length: int) -> None:
    module = stock(make, dtype)
    noise = random(1, 10 * 300, dtype=dtype)
    with patched(["harmonic_source"], module, dtype):
        assert_masked(module, [pitch(10, dtype), noise], length, factor=300)
