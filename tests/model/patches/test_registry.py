from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import nn

from kokoro_tvm.common.errors import BuildError
from kokoro_tvm.model.patches import apply_patches, get_patch, list_patches, resolve_attribute

from .support import stock


def make() -> nn.Module:
    from kokoro.modules import TextEncoder

    return TextEncoder(channels=4, kernel_size=5, depth=2, n_symbols=9)


def test_every_file_defines_a_patch_of_its_name() -> None:
    assert "lstm" in list_patches()
    for name in list_patches():
        patch = get_patch(name)
        assert patch.name == name
        assert patch.replaces
        for dotted in patch.replaces:
            assert callable(resolve_attribute(dotted))


def test_docs_list_every_patch() -> None:
    text = (Path(__file__).parents[3] / "docs" / "patches.md").read_text(encoding="utf-8")
    for name in list_patches():
        row = next((line for line in text.splitlines() if line.startswith(f"| `{name}` ")), None)
        assert row is not None, f"docs/patches.md has no row for {name}"
        for dotted in get_patch(name).replaces:
            assert ".".join(dotted.split(".")[-2:]) in row


def test_get_patch_imports_only_that_patch() -> None:
    code = (
        "import sys; import kokoro_tvm.model.patches as p; p.list_patches(); p.get_patch('lstm');"
        "patches = [m for m in sys.modules if m.startswith('kokoro_tvm.model.patches.')];"
        "print(*sorted(m for m in patches if '.base' not in m))"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.split() == ["kokoro_tvm.model.patches.lstm"]


def test_get_patch_suggests_nearest_name() -> None:
    with (
        pytest.raises(BuildError, match="unknown patch 'lsmt': did you mean lstm"),
        apply_patches(["lsmt"], nn.Linear(1, 1)),
    ):
        pass
    with pytest.raises(BuildError, match="unknown patch 'zzz': there are ada_layer_norm"):
        get_patch("zzz")
    with pytest.raises(BuildError, match="unknown patch '_length'"):
        get_patch("_length")


def test_apply_patches_rejects_patch_without_match() -> None:
    module = stock(make, torch.float32)
    before = snapshot(module)
    for names in (["weight_norm", "lstm", "generator"], ["generator"]):
        message = r"patch generator replaces kokoro\.istftnet\.Generator\.forward, but nothing"
        with pytest.raises(BuildError, match=message), apply_patches(names, module):
            pass
        assert snapshot(module) == before
    with (
        pytest.raises(BuildError, match="finds no weight norm"),
        apply_patches(["weight_norm"], nn.Linear(1, 1)),
    ):
        pass


def test_apply_patches_rejects_patch_in_force() -> None:
    module = stock(make, torch.float32)
    before = snapshot(module)
    with pytest.raises(BuildError, match="replaced already"), apply_patches(["lstm", "lstm"], module):
        pass
    assert snapshot(module) == before
    with apply_patches(["lstm"], module):
        inside = snapshot(module)
        with (
            pytest.raises(BuildError, match="which a patch in force has replaced already"),
            apply_patches(["lstm"], module),
        ):
            pass
        assert snapshot(module) == inside


@pytest.mark.parametrize("fails", [False, True])
def test_apply_patches_restores_module(fails: bool) -> None:
    module = stock(make, torch.float32)
    other = stock(make, torch.float32)
    tokens = torch.tensor([[1, 2, 3]])
    lengths, mask = torch.tensor([3]), torch.zeros(1, 3, dtype=torch.bool)
    want = module(tokens, lengths, mask)
    before = snapshot(module)
    try:
        with apply_patches(["weight_norm", "lstm", "text_encoder"], module):
            assert snapshot(module) != before
            assert torch.equal(other(tokens, lengths, mask), want), "another model is touched"
            if fails:
                raise ZeroDivisionError
    except ZeroDivisionError:
        pass
    assert snapshot(module) == before
    assert torch.equal(module(tokens, lengths, mask), want)
    module.cnn[0][0].weight_g.data *= 2
    assert not torch.equal(module(tokens, lengths, mask), want), "the weight norm no longer works"


def snapshot(module: nn.Module) -> list[object]:
    """Return state names in order, hooks and instance methods of every submodule."""
    return [
        (name, list(m._parameters), list(m._forward_pre_hooks.values()), sorted(m.__dict__))
        for name, m in module.named_modules()
    ]


def test_apply_patches_restores_values_exactly() -> None:
    module = stock(make, torch.float32)
    before = {name: t.clone() for name, t in module.state_dict().items()}
    with apply_patches(["weight_norm", "lstm", "text_encoder"], module):
        module(torch.tensor([[1, 2]]))
    after = module.state_dict()
    assert list(after) == list(before)
    assert all(torch.equal(after[name], before[name]) for name in before)
