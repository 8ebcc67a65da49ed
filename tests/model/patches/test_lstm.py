from __future__ import annotations

import pytest
import torch
from torch import nn

from kokoro_tvm.common.errors import BuildError

from .support import DTYPES, assert_masked, assert_same, patched, random, stock


def make() -> nn.Module:
    return nn.LSTM(6, 4, 1, batch_first=True, bidirectional=True)


@DTYPES
@pytest.mark.parametrize("steps", [1, 2, 17])
def test_lstm_patch_matches_stock(dtype: torch.dtype, steps: int) -> None:
    module = stock(make, dtype)
    x = random(1, steps, 6, dtype=dtype)
    want = module(x)[0]
    with patched(["lstm"], module, dtype):
        assert_same(module(x), want)


@DTYPES
@pytest.mark.parametrize("length", [1, 2, 6])
def test_lstm_patch_backward_starts_at_last_valid_step(dtype: torch.dtype, length: int) -> None:
    module = stock(make, dtype)
    with patched(["lstm"], module, dtype):
        assert_masked(module, [random(1, 7, 6, dtype=dtype)], length)


def test_lstm_patch_matches_packed_sequence() -> None:
    module = stock(make, torch.float64)
    x = random(1, 7, 6, dtype=torch.float64)
    packed = nn.utils.rnn.pack_padded_sequence(x, torch.tensor([4]), batch_first=True)
    want = nn.utils.rnn.pad_packed_sequence(module(packed)[0], batch_first=True)[0]
    with patched(["lstm"], module, torch.float64):
        assert_same(module(x, torch.tensor([4]))[:, :4], want)


@pytest.mark.parametrize(
    "other", [{"num_layers": 2}, {"bidirectional": False}, {"bias": False}, {"proj_size": 2}]
)
def test_lstm_patch_rejects_other_lstms(other: dict[str, int]) -> None:
    module = stock(lambda: nn.LSTM(6, 4, **{"bidirectional": True, **other}), torch.float32)
    with patched(["lstm"], module, torch.float32), pytest.raises(BuildError, match="patch lstm supports"):
        module(random(1, 3, 6, dtype=torch.float32))
