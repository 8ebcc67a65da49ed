"""Synthetic weights: seeded, marked as such, and well enough behaved to test the rest with."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors import safe_open

from kokoro_tvm.model.kokoro import build_model, list_shapes, load_config, load_shipped_config, load_state
from kokoro_tvm.model.synthetic import draw_state, draw_voices, shrink_config

PHONEMES = "həlˈO wˈɜɹld."


@pytest.mark.parametrize("seed", [0, 1])
def test_synthetic_toy_produces_plausible_audio(fetched: Callable[..., Path], seed: int) -> None:
    source = {"kind": "synthetic", "seed": seed, "size": "toy"}
    lines: list[str] = []
    folder = fetched(source, log=lines.append)
    assert any("does not speak" in line for line in lines)
    with safe_open(folder / "weights.safetensors", "pt") as file:
        assert file.metadata()["synthetic"] == "true"
    config = load_config(folder)
    assert config == shrink_config(load_shipped_config())
    model = build_model(config, load_state(folder))
    pitch: list[torch.Tensor] = []
    model.predictor.F0_proj.register_forward_hook(lambda module, inputs, output: pitch.append(output))
    style = draw_voices(seed)["af_heart"][len(PHONEMES) - 1][None]
    torch.manual_seed(0)
    out = model(PHONEMES, style, return_output=True)
    assert 2.0 <= out.pred_dur.double().mean() <= 4.5 and 1 <= out.pred_dur.min() <= out.pred_dur.max() <= 8
    voiced = (pitch[0] > 10).double().mean()
    assert 0.5 < voiced < 1.0
    assert out.audio.isfinite().all() and out.audio.std() > 0.005 and out.audio.abs().max() < 1.0


def test_synthetic_weights_depend_on_the_seed() -> None:
    config = shrink_config(load_shipped_config())
    one, same, other = (draw_state(config, seed) for seed in (3, 3, 4))
    assert all(torch.equal(one[key], same[key]) for key in one)
    assert not torch.equal(one["bert_encoder.weight"], other["bert_encoder.weight"])
    voices = draw_voices(3)
    assert {tuple(voice.shape) for voice in voices.values()} == {(510, 256)}
    assert not torch.equal(voices["af_heart"], draw_voices(4)["af_heart"])


def test_synthetic_full_size_has_the_stock_shapes() -> None:
    config = load_shipped_config()
    state = draw_state(config, 0)
    assert {key: tuple(value.shape) for key, value in state.items()} == list_shapes(config)
    assert all(value.isfinite().all() for value in state.values())
