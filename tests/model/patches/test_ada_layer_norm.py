from __future__ import annotations

import pytest
import torch
from torch import nn

from .support import DTYPES, STYLE, assert_masked, assert_same, patched, random, stock


def make() -> nn.Module:
    from kokoro.modules import AdaLayerNorm

    return AdaLayerNorm(STYLE, 8)


@DTYPES
@pytest.mark.parametrize("steps", [1, 2, 17])
def test_ada_layer_norm_matches_stock(dtype: torch.dtype, steps: int) -> None:
    module = stock(make, dtype)
    x, style = random(1, steps, 8, dtype=dtype) + 3, random(1, STYLE, dtype=dtype, seed=2)
    want = module(x, style)
    with patched(["ada_layer_norm"], module, dtype):
        assert_same(module(x, style), want)


@DTYPES
def test_ada_layer_norm_masks_invalid_steps(dtype: torch.dtype) -> None:
    module = stock(make, dtype)
    style = random(1, STYLE, dtype=dtype, seed=2)
    with patched(["ada_layer_norm"], module, dtype):
        assert_masked(lambda x, length: module(x, style, length), [random(1, 7, 8, dtype=dtype)], 4)
