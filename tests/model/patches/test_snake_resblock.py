from __future__ import annotations

from functools import partial

import pytest
import torch
from torch import nn

from .support import DTYPES, STYLE, assert_masked, assert_same, patched, random, stock

PATCHES = ["weight_norm", "snake_resblock"]


def make(taps: int) -> nn.Module:
    from kokoro.istftnet import AdaINResBlock1

    return AdaINResBlock1(6, taps, (1, 3, 5), STYLE)


@DTYPES
@pytest.mark.parametrize("taps", [3, 7, 11])
@pytest.mark.parametrize("steps", [2, 9, 40])
def test_snake_resblock_matches_stock(dtype: torch.dtype, taps: int, steps: int) -> None:
    module = stock(partial(make, taps), dtype)
    x, style = random(1, steps, 6, dtype=dtype), random(1, STYLE, dtype=dtype, seed=2)
    want = module(x.transpose(1, 2), style).transpose(1, 2)
    with patched(PATCHES, module, dtype):
        assert_same(module(x, style), want)
        assert_same(module(x, style, None, gain=0.25), want * 0.25)


@DTYPES
@pytest.mark.parametrize("length", [1, 5, 19])
def test_snake_resblock_masks_invalid_steps(dtype: torch.dtype, length: int) -> None:
    module = stock(partial(make, 7), dtype)
    style = random(1, STYLE, dtype=dtype, seed=2)
    with patched(PATCHES, module, dtype):
        assert_masked(lambda x, n: module(x, style, n), [random(1, 20, 6, dtype=dtype)], length)
