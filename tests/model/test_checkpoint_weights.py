"""The real weights, fetched as a user's build fetches them."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file
from toys import doit

from kokoro_tvm.model.checkpoint_files import hash_values
from kokoro_tvm.model.kokoro import build_model, load_config, load_state
from kokoro_tvm.recipe import load_recipe

pytestmark = [pytest.mark.slow("builds the real weights"), pytest.mark.weights]
ROOT = Path(__file__).parents[2]
PHONEMES = "həlˈO wˈɜɹld."


@pytest.fixture(scope="module")
def folder() -> Path:
    process = doit(ROOT, "kokoro-82m.checkpoint")
    assert process.returncode == 0, process.stdout + process.stderr
    return ROOT / "artifacts" / "checkpoint" / "kokoro-82m"


def test_checkpoint_has_every_tensor_and_voice(folder: Path) -> None:
    with safe_open(folder / "weights.safetensors", "pt") as file:
        assert file.metadata()["synthetic"] == "false"
    build_model(load_config(folder), load_state(folder))
    voices = load_file(folder / "voices.safetensors")
    assert len(voices) == 54
    assert {(tuple(voice.shape), voice.dtype) for voice in voices.values()} == {((510, 256), torch.float32)}
    pinned = load_recipe("cpu", ROOT / "recipes").checkpoint.voices
    assert hash_values({name: voices[name] for name in pinned.names}) == pinned.sha256


def test_checkpoint_says_hello(folder: Path) -> None:
    model = build_model(load_config(folder), load_state(folder))
    style = load_file(folder / "voices.safetensors")["af_heart"][len(PHONEMES) - 1][None]
    torch.manual_seed(0)
    out = model(PHONEMES, style, return_output=True)
    assert 1.4 <= out.audio.numel() / 24000 <= 1.8
    assert out.audio.isfinite().all() and 0.1 < out.audio.abs().max() < 1.0
    assert out.pred_dur.tolist() == [17, 2, 2, 2, 2, 2, 2, 1, 2, 3, 4, 3, 13, 7, 1]
