from __future__ import annotations

import pytest
import torch
from torch import nn

from kokoro_tvm.common.errors import BuildError

from .support import DTYPES, assert_same, patched, stock


def make(**other: object) -> nn.Module:
    from kokoro.modules import CustomAlbert
    from transformers import AlbertConfig

    sizes = {
        "vocab_size": 20,
        "embedding_size": 8,
        "hidden_size": 24,
        "num_attention_heads": 4,
        "intermediate_size": 32,
        "num_hidden_layers": 3,
        "max_position_embeddings": 32,
    }
    return CustomAlbert(AlbertConfig(**(sizes | other)))


def tokens(steps: int) -> torch.Tensor:
    return torch.randint(20, (1, steps), generator=torch.Generator().manual_seed(3))


@DTYPES
@pytest.mark.parametrize("steps", [1, 2, 17, 32])
def test_albert_matches_stock(dtype: torch.dtype, steps: int) -> None:
    module = stock(make, dtype)
    ids = tokens(steps)
    want = module(ids, attention_mask=torch.ones(1, steps, dtype=torch.int32))
    with patched(["albert"], module, dtype):
        assert_same(module(ids), want)


def test_albert_runs_layers_in_stock_order() -> None:
    module = stock(lambda: make(num_hidden_layers=5, num_hidden_groups=2, inner_group_num=2), torch.float64)
    ids = tokens(4)
    want = module(ids, attention_mask=torch.ones(1, 4, dtype=torch.int32))
    with patched(["albert"], module, torch.float64):
        assert_same(module(ids), want)


@DTYPES
@pytest.mark.parametrize("length", [1, 6])
def test_albert_masks_invalid_steps(dtype: torch.dtype, length: int) -> None:
    module = stock(make, dtype)
    ids = tokens(9)
    with patched(["albert"], module, dtype):
        want = module(ids[:, :length])
        results = []
        for filler in (0, 19):
            ids[:, length:] = filler
            results.append(module(ids, torch.tensor([length]))[:, :length])
    assert torch.equal(*results)
    assert_same(results[0], want)


def test_albert_rejects_other_activations() -> None:
    module = stock(lambda: make(hidden_act="relu"), torch.float32)
    with patched(["albert"], module, torch.float32), pytest.raises(BuildError, match="gelu_new, not relu"):
        module(tokens(3))
