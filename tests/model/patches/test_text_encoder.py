from __future__ import annotations

import pytest
import torch
from torch import nn

from .support import DTYPES, assert_same, patched, stock

PATCHES = ["weight_norm", "lstm", "text_encoder"]


def make() -> nn.Module:
    from kokoro.modules import TextEncoder

    return TextEncoder(channels=8, kernel_size=5, depth=3, n_symbols=20)


def tokens(steps: int) -> torch.Tensor:
    return torch.randint(20, (1, steps), generator=torch.Generator().manual_seed(3))


@DTYPES
@pytest.mark.parametrize("steps", [1, 2, 17])
def test_text_encoder_matches_stock(dtype: torch.dtype, steps: int) -> None:
    module = stock(make, dtype)
    ids, mask = tokens(steps), torch.zeros(1, steps, dtype=torch.bool)
    with patched([], module, dtype):
        want = module(ids, torch.tensor([steps]), mask).transpose(1, 2)
    with patched(PATCHES, module, dtype):
        assert_same(module(ids), want)


@DTYPES
@pytest.mark.parametrize("length", [1, 6])
def test_text_encoder_masks_invalid_steps(dtype: torch.dtype, length: int) -> None:
    module = stock(make, dtype)
    ids = tokens(9)
    with patched(PATCHES, module, dtype):
        want = module(ids[:, :length])
        results = []
        for filler in (0, 19):
            ids[:, length:] = filler
            results.append(module(ids, torch.tensor([length]))[:, :length])
    assert torch.equal(*results)
    assert_same(results[0], want)


def test_text_encoder_length_matches_stock_mask() -> None:
    """Compare the stock encoder with a mask and the patched one with a length."""
    module = stock(make, torch.float64)
    ids, length = tokens(9), 5
    mask = (torch.arange(9) >= length)[None]
    with patched([], module, torch.float64):
        want = module(ids, torch.tensor([length]), mask).transpose(1, 2)
    with patched(PATCHES, module, torch.float64):
        assert_same(module(ids, torch.tensor([length]))[:, :length], want[:, :length])
