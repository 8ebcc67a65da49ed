from __future__ import annotations

import pytest
import torch
from torch import nn

from .support import DTYPES, STYLE, assert_masked, assert_same, patched, random, stock

PATCHES = ["weight_norm", "lstm", "adain_resblock", "f0n"]


def make() -> nn.Module:
    from kokoro.modules import ProsodyPredictor

    return ProsodyPredictor(STYLE, 8, nlayers=1, max_dur=4)


@DTYPES
@pytest.mark.parametrize("steps", [2, 3, 17])
def test_f0n_matches_stock(dtype: torch.dtype, steps: int) -> None:
    module = stock(make, dtype)
    x, style = random(1, steps, 8 + STYLE, dtype=dtype), random(1, STYLE, dtype=dtype, seed=2)
    with patched([], module, dtype):
        wants = module.F0Ntrain(x.transpose(1, 2), style)
    with patched(PATCHES, module, dtype):
        for actual, want in zip(module.F0Ntrain(x.transpose(1, 2), style), wants, strict=True):
            assert_same(actual, want)


@DTYPES
@pytest.mark.parametrize("length", [1, 2, 8])
def test_f0n_masks_invalid_steps(dtype: torch.dtype, length: int) -> None:
    module = stock(make, dtype)
    style = random(1, STYLE, dtype=dtype, seed=2)
    x = random(1, 9, 8 + STYLE, dtype=dtype)
    with patched(PATCHES, module, dtype):
        assert_masked(lambda x, n: module.F0Ntrain(x.transpose(1, 2), style, n), [x], length, factor=2)
