from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn.utils import weight_norm

from kokoro_tvm.common.errors import BuildError
from kokoro_tvm.model.patches import apply_patches
from kokoro_tvm.model.patches.weight_norm import fold_weight_norm

from .support import random, stock


def make() -> nn.Module:
    return nn.Sequential(
        weight_norm(nn.Conv1d(4, 6, 3)), weight_norm(nn.ConvTranspose1d(6, 5, 4, 2)), nn.Conv1d(5, 2, 1)
    )


def test_fold_weight_norm_rounds_once() -> None:
    module = stock(make, torch.float32)
    pairs = [(m.weight_g.double(), m.weight_v.double()) for m in module[:2]]
    exact = [v / v.flatten(1).norm(dim=1)[:, None, None] * g for g, v in pairs]
    with apply_patches(["weight_norm"], module):
        assert [n for n, _ in module.named_parameters()] == [
            "0.bias", "0.weight", "1.bias", "1.weight", "2.weight", "2.bias",
        ]  # fmt: skip
        for folded, want in zip(module[:2], exact, strict=True):
            assert folded.weight.dtype == torch.float32
            assert torch.equal(folded.weight, want.float())
            assert not folded.weight.requires_grad


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-6), (torch.float64, 1e-14)])
def test_weight_norm_matches_hook(dtype: torch.dtype, tolerance: float) -> None:
    module = stock(make, dtype)
    x = random(1, 4, 9, dtype=dtype)
    want = module(x)
    with apply_patches(["weight_norm"], module):
        actual = module(x)
    assert (actual - want).abs().max() <= tolerance * want.abs().max()


def test_fold_weight_norm_matches_patched_module() -> None:
    module = stock(make, torch.float32)
    folded = fold_weight_norm(module.state_dict())
    with apply_patches(["weight_norm"], module):
        state = module.state_dict()
    assert set(folded) == set(state)
    assert all(torch.equal(folded[name], state[name]) for name in state)


@pytest.mark.filterwarnings("ignore::FutureWarning")  # weight_norm is deprecated; stock uses it
def test_weight_norm_folds_meta_tensors() -> None:
    with torch.device("meta"):
        module = make()
    with apply_patches(["weight_norm"], module):
        assert module[0].weight.is_meta
        assert module[0].weight.shape == (6, 4, 3)
    assert "weight" not in dict(module[0].named_parameters())


@pytest.mark.parametrize(
    ("state", "message"),
    [
        ({"a.weight_g": torch.ones(2, 1, 1)}, "has a.weight_g but not a.weight_v"),
        ({"a.weight_v": torch.ones(2, 1, 1)}, "has a.weight_v but not a.weight_g"),
        (
            {
                "a.weight": torch.ones(2, 1, 1),
                "a.weight_g": torch.ones(2, 1, 1),
                "a.weight_v": torch.ones(2, 1, 1),
            },
            "both folded and as",
        ),
        (
            {"a.weight_g": torch.ones(2, 1, 1), "a.weight_v": torch.zeros(2, 3, 1)},
            "a.weight cannot be folded",
        ),
        (
            {"a.weight_g": torch.ones(1, 1), "a.weight_v": torch.full((1, 3), torch.nan)},
            "a.weight cannot be folded",
        ),
    ],
)
def test_fold_weight_norm_rejects_invalid_states(state: dict[str, torch.Tensor], message: str) -> None:
    with pytest.raises(BuildError, match=message):
        fold_weight_norm(state)


def test_weight_norm_restores_after_an_error() -> None:
    module = stock(make, torch.float32)
    module[1].weight_v.data.zero_()
    with (
        pytest.raises(BuildError, match=r"1\.weight cannot be folded"),
        apply_patches(["weight_norm"], module),
    ):
        pass
    assert {"weight_g", "weight_v"} <= set(dict(module[0].named_parameters()))
    module[0](random(1, 4, 9, dtype=torch.float32))
