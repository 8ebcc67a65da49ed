from __future__ import annotations

from functools import partial

import pytest
import torch
from torch import nn

from .support import DTYPES, STYLE, assert_masked, assert_same, patched, random, stock

PATCHES = ["weight_norm", "adain_resblock"]
KINDS = pytest.mark.parametrize(
    ("outputs", "upsample"), [(6, "none"), (9, "none"), (6, True), (9, True)], ids=str
)


def make(outputs: int, upsample: object) -> nn.Module:
    from kokoro.istftnet import AdainResBlk1d

    return AdainResBlk1d(6, outputs, STYLE, upsample=upsample, dropout_p=0.2)


@DTYPES
@KINDS
@pytest.mark.parametrize("steps", [2, 3, 17])
def test_adain_resblock_matches_stock(dtype: torch.dtype, outputs: int, upsample: object, steps: int) -> None:
    module = stock(partial(make, outputs, upsample), dtype)
    x, style = random(1, steps, 6, dtype=dtype), random(1, STYLE, dtype=dtype, seed=2)
    with patched([], module, dtype):
        want = module(x.transpose(1, 2), style).transpose(1, 2)
    with patched(PATCHES, module, dtype):
        assert_same(module(x, style), want)


@DTYPES
@KINDS
@pytest.mark.parametrize("length", [1, 2, 6])
def test_adain_resblock_masks_invalid_steps(
    dtype: torch.dtype, outputs: int, upsample: object, length: int
) -> None:
    module = stock(partial(make, outputs, upsample), dtype)
    style = random(1, STYLE, dtype=dtype, seed=2)
    factor = 1 if upsample == "none" else 2
    with patched(PATCHES, module, dtype):
        assert_masked(lambda x, n: module(x, style, n), [random(1, 7, 6, dtype=dtype)], length, factor)


def test_adain_resblock_centres_variance() -> None:
    """Use a mean of a thousand spreads: E[x^2] - E[x]^2 in float32 keeps no digit of the variance."""
    module = stock(partial(make, 6, "none"), torch.float32)
    spread = random(1, 50, 6, dtype=torch.float32)
    x = (spread + 1000).double()
    style = random(1, STYLE, dtype=torch.float64, seed=2)
    with patched(PATCHES, module, torch.float32):
        actual = module(x.float(), style.float())
    with patched(PATCHES, module.double(), torch.float64):
        want = module(x.float().double(), style)
    assert_same(actual.double() - x * 0.5**0.5, want - x * 0.5**0.5, tolerance=1e-4)
