"""Which layers of a component there are to tune."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from machines import machine_of

from kokoro_tvm.recipe import Recipe, load_recipe
from kokoro_tvm.tools.lab.tuning.layers import layers_of

RECIPES = Path(__file__).parents[4] / "recipes"


@pytest.fixture
def toy(tmp_path: Path) -> Recipe:
    """The recipe `cpu` of the toy model."""
    outcome = yaml.safe_load((RECIPES / "kokoro-82m.yaml").read_text(encoding="utf-8"))
    outcome["checkpoint"]["sources"] = [{"kind": "synthetic", "seed": 1, "size": "toy"}]
    (tmp_path / "kokoro-82m.yaml").write_text(yaml.safe_dump(outcome, allow_unicode=True), encoding="utf-8")
    target = "model: kokoro-82m\ntarget: {kind: llvm, mcpu: native}\nbuckets: {tokens: [64], frames: [64]}\n"
    (tmp_path / "toy.yaml").write_text(target + "length: masked\n", encoding="utf-8")
    return load_recipe("toy", tmp_path)


def test_the_decoder_has_some_and_the_text_side_none(toy: Recipe) -> None:
    machine = machine_of("native", None, ())
    layers = layers_of(toy, "decoder", machine)
    assert len(layers) > 5
    assert len({layer.name for layer in layers}) == len(layers)
    assert [layer.flops for layer in layers] == sorted((layer.flops for layer in layers), reverse=True)
    assert any(layer.call.moments is not None for layer in layers)
    assert all("length" not in layer.call.shapes and layer.call.result[1] == "y_1" for layer in layers)
    assert layers_of(toy, "text_encoder", machine) == []
