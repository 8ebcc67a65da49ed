"""Seeded random weights for tests, of the stock shapes or of the smallest that the stock classes allow.

Every layer keeps the variance of its input, so that activations neither vanish nor explode. Tests need: two
to four frames per token, a pitch around 130 Hz with unvoiced frames, audio well within 1.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import torch

from kokoro_tvm.model.kokoro import list_shapes
from kokoro_tvm.model.voices import VOICE_SHAPE

# Names of real voices, because recipes name them.
VOICES = ("af_bella", "af_heart", "am_adam", "am_michael", "bf_emma", "bm_george")
FRAMES_PER_TOKEN = 2.8
PITCH_HZ, PITCH_SPREAD_HZ = 130.0, 75.0
LOG_MAGNITUDE = -1.0
# Measured standard deviation of the output of the predictor's last block with these weights.
BLOCK_SPREAD = 0.3


def draw(
    size: str, seed: int, config: bytes
) -> tuple[dict[str, torch.Tensor], dict[str, torch.Tensor], bytes]:
    """Draw a state dict and voices from a seed, and return them with their config.json.

    `size` is "full" (the shapes of `config`) or "toy" (those of `shrink_config`).
    """
    parsed: dict[str, Any] = json.loads(config)
    if size == "toy":
        parsed = shrink_config(parsed)
        config = (json.dumps(parsed, ensure_ascii=False, indent=2) + "\n").encode()
    return draw_state(parsed, seed), draw_voices(seed), config


def shrink_config(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the smallest configuration with the same vocabulary, lengths and frame rate."""
    # The decoder has fixed 1024, 512 and 64 channels, so hidden_dim and upsample_initial_channel are fixed.
    istftnet = dict(config["istftnet"]) | {
        "resblock_kernel_sizes": [3],
        "resblock_dilation_sizes": [[1, 3, 5]],
    }
    plbert = dict(config["plbert"]) | {
        "hidden_size": 64,
        "num_attention_heads": 4,
        "intermediate_size": 128,
        "num_hidden_layers": 1,
    }
    return dict(config) | {"istftnet": istftnet, "plbert": plbert, "n_layer": 1}


def draw_voices(seed: int) -> dict[str, torch.Tensor]:
    """Return voices, float32 (510, 256): a style each, which changes a little with the number of phonemes."""
    generator = torch.Generator().manual_seed(seed)
    rows, columns = VOICE_SHAPE
    voices: dict[str, torch.Tensor] = {}
    for name in VOICES:
        style = 0.3 * torch.randn(1, columns, generator=generator)
        voices[name] = style + 0.03 * torch.randn(rows, columns, generator=generator)
    return voices


def draw_state(config: Mapping[str, Any], seed: int) -> dict[str, torch.Tensor]:
    """Return a complete stock state dict, float32; the same seed gives the same bits."""
    generator = torch.Generator().manual_seed(seed)
    rates = list(config["istftnet"]["upsample_rates"])
    return {key: _draw_tensor(key, shape, rates, generator) for key, shape in list_shapes(config).items()}


def _draw_tensor(
    key: str, shape: tuple[int, ...], rates: list[int], generator: torch.Generator
) -> torch.Tensor:
    """Draw a weight, whose spread keeps signals, durations and pitch in the range of speech."""
    noise = torch.randn(shape, generator=generator)
    module, _, leaf = key.rpartition(".")
    if key.startswith("bert.pooler.") or key.endswith(".norm.bias"):
        return torch.zeros(shape)
    if key.endswith(".norm.weight"):
        return torch.ones(shape)
    if "alpha" in key or leaf == "gamma" or (leaf == "weight" and len(shape) == 1):
        return 1.0 + 0.05 * noise
    if leaf == "weight_g":
        return _compute_gain(module, rates) * (1.0 + 0.05 * noise)
    if module == "predictor.duration_proj.linear_layer":
        return _draw_duration(leaf, shape, noise)
    if key == "predictor.F0_proj.weight":
        return noise * (PITCH_SPREAD_HZ / BLOCK_SPREAD / math.sqrt(shape[1]))
    if key == "predictor.F0_proj.bias":
        return torch.full(shape, PITCH_HZ)
    if key == "decoder.generator.conv_post.bias":
        bias = 0.1 * noise
        bias[: shape[0] // 2] += LOG_MAGNITUDE
        return bias
    if len(shape) == 1 or leaf == "beta":
        return 0.05 * noise
    if "embedding" in module and leaf == "weight":
        return 0.5 * noise
    return noise / math.sqrt(math.prod(shape[1:]))


def _compute_gain(module: str, rates: list[int]) -> float:
    """Return the row norm with which a weight-normed convolution keeps (or halves) its input's spread."""
    name = module.rpartition(".")[2]
    if name == "pool":
        return math.sqrt(2.0)
    if module.startswith("decoder.generator.ups."):
        # A transposed convolution: the output has half the channels, and a sample gets 1/rate of the taps.
        return math.sqrt(rates[int(name)] / 2.0)
    if name == "conv_post":
        return 0.25
    return 0.5


def _draw_duration(leaf: str, shape: tuple[int, ...], noise: torch.Tensor) -> torch.Tensor:
    """Return weights of `max_dur` sigmoids that sum to about FRAMES_PER_TOKEN."""
    classes = shape[0]
    if leaf == "bias":
        share = FRAMES_PER_TOKEN / classes
        return math.log(share / (1.0 - share)) + 0.1 * noise
    # The sigmoids share a direction, so that the durations of tokens differ.
    return (noise[:1] + 0.2 * noise) / math.sqrt(shape[1])
