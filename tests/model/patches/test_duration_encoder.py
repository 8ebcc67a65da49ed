from __future__ import annotations

import pytest
import torch
from torch import nn

from .support import DTYPES, STYLE, assert_masked, assert_same, patched, random, stock

PATCHES = ["lstm", "ada_layer_norm", "duration_encoder"]


def make() -> nn.Module:
    from kokoro.modules import DurationEncoder

    return DurationEncoder(STYLE, 8, 3)


@DTYPES
@pytest.mark.parametrize("steps", [1, 2, 17])
def test_duration_encoder_matches_stock(dtype: torch.dtype, steps: int) -> None:
    module = stock(make, dtype)
    x, style = random(1, steps, 8, dtype=dtype), random(1, STYLE, dtype=dtype, seed=2)
    lengths, mask = torch.tensor([steps]), torch.zeros(1, steps, dtype=torch.bool)
    with patched([], module, dtype):
        want = module(x.transpose(1, 2), style, lengths, mask)
    with patched(PATCHES, module, dtype):
        assert_same(module(x, style), want)


@DTYPES
@pytest.mark.parametrize("length", [1, 6])
def test_duration_encoder_masks_invalid_steps(dtype: torch.dtype, length: int) -> None:
    module = stock(make, dtype)
    style = random(1, STYLE, dtype=dtype, seed=2)
    with patched(PATCHES, module, dtype):
        assert_masked(lambda x, n: module(x, style, n), [random(1, 7, 8, dtype=dtype)], length)
