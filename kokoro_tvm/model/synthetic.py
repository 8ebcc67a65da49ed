"""Seeded random weights for tests, of the stock shapes or the smallest ones the stock classes allow.

Every layer keeps the variance of what it gets, so that nothing dies or explodes; what matters for a test is
set on purpose: two to four frames a token, a pitch around 130 Hz that is unvoiced here and there, audio well
within 1.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import torch

from kokoro_tvm.model.kokoro import expected_shapes
from kokoro_tvm.model.voices import VOICE_SHAPE

__all__ = ["draw", "synthetic_state", "synthetic_voices", "toy_config"]

# Names of real voices, so that recipes that name them work.
VOICES = ("af_bella", "af_heart", "am_adam", "am_michael", "bf_emma", "bm_george")
FRAMES_A_TOKEN = 2.8
PITCH_HZ, PITCH_SPREAD_HZ = 130.0, 75.0
LOG_MAGNITUDE = -1.0
# Standard deviation of what the predictor's last block yields with these weights, measured.
BLOCK_SPREAD = 0.3


def draw(
    size: str, seed: int, config: bytes
) -> tuple[dict[str, torch.Tensor], dict[str, torch.Tensor], bytes]:
    """State dict, voices and config.json of the seed; size: "full" as `config` has it, or "toy"."""
    parsed: dict[str, Any] = json.loads(config)
    if size == "toy":
        parsed = toy_config(parsed)
        config = (json.dumps(parsed, ensure_ascii=False, indent=2) + "\n").encode()
    return synthetic_state(parsed, seed), synthetic_voices(seed), config


def toy_config(config: Mapping[str, Any]) -> dict[str, Any]:
    """The smallest configuration of the stock classes with the same vocabulary, lengths and frame rate.

    The decoder fixes 1024, 512 and 64 channels itself, which fixes hidden_dim and upsample_initial_channel.
    """
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


def synthetic_voices(seed: int) -> dict[str, torch.Tensor]:
    """A few voices, float32 (510, 256): one style each, that changes a little with the number of phonemes."""
    generator = torch.Generator().manual_seed(seed)
    rows, columns = VOICE_SHAPE
    voices: dict[str, torch.Tensor] = {}
    for name in VOICES:
        style = 0.3 * torch.randn(1, columns, generator=generator)
        voices[name] = style + 0.03 * torch.randn(rows, columns, generator=generator)
    return voices


def synthetic_state(config: Mapping[str, Any], seed: int) -> dict[str, torch.Tensor]:
    """A complete stock state dict (float32) for the configuration; the same seed gives the same bits."""
    generator = torch.Generator().manual_seed(seed)
    rates = list(config["istftnet"]["upsample_rates"])
    return {key: _tensor(key, shape, rates, generator) for key, shape in expected_shapes(config).items()}


def _tensor(key: str, shape: tuple[int, ...], rates: list[int], generator: torch.Generator) -> torch.Tensor:
    noise = torch.randn(shape, generator=generator)
    module, _, leaf = key.rpartition(".")
    if key.startswith("bert.pooler.") or key.endswith(".norm.bias"):
        return torch.zeros(shape)
    if key.endswith(".norm.weight"):
        return torch.ones(shape)
    if "alpha" in key or leaf == "gamma" or (leaf == "weight" and len(shape) == 1):
        return 1.0 + 0.05 * noise
    if leaf == "weight_g":
        return _gain(module, shape, rates) * (1.0 + 0.05 * noise)
    if module == "predictor.duration_proj.linear_layer":
        return _duration(leaf, shape, noise)
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


def _gain(module: str, shape: tuple[int, ...], rates: list[int]) -> float:
    """The row norm with which a weight-normed convolution keeps (or halves) the spread of its input."""
    name = module.rpartition(".")[2]
    if name == "pool":
        return math.sqrt(2.0)
    if module.startswith("decoder.generator.ups."):
        # A transposed convolution: half as many channels come out, and only 1/rate of the taps meet a sample.
        return math.sqrt(rates[int(name)] / 2.0)
    if name == "conv_post":
        return 0.25
    return 0.5


def _duration(leaf: str, shape: tuple[int, ...], noise: torch.Tensor) -> torch.Tensor:
    """`max_dur` sigmoids that sum to about FRAMES_A_TOKEN; they share a direction, so that tokens differ."""
    classes = shape[0]
    if leaf == "bias":
        share = FRAMES_A_TOKEN / classes
        return math.log(share / (1.0 - share)) + 0.1 * noise
    return (noise[:1] + 0.2 * noise) / math.sqrt(shape[1])
