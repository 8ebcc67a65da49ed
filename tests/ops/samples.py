"""One small use of every operation, with every optional argument but the length."""

from __future__ import annotations

from typing import Any

import torch

from .support import random

STEPS = 37

SAMPLES: dict[str, tuple[dict[str, torch.Tensor | None], dict[str, Any]]] = {
    "adain_coefficients": (
        {"x": random(1, 5, STEPS), "style": random(1, 10), "weight": random(5), "bias": random(5)},
        {},
    ),
    "attention": ({name: random(1, 6, STEPS) for name in ("query", "key", "value")}, {"heads": 2}),
    "conv1d": (
        {
            "x": random(1, 5, STEPS),
            "weight": random(7, 5, 3),
            "bias": random(7),
            "norm": random(3, 5),
            "alpha": random(5).abs() + 0.1,
            "residual": random(1, 7, STEPS),
        },
        {"padding": 2, "dilation": 2, "gain": 0.5},
    ),
    "conv_transpose1d": (
        {
            "x": random(1, 5, STEPS),
            "weight": random(5, 7, 12),
            "bias": random(7),
            "residual": random(1, 7, 6 * STEPS + 1),
        },
        {"stride": 6, "slope": 0.1, "lead": True},
    ),
    "embedding": ({"weight": random(9, 5), "ids": torch.arange(-2, STEPS - 2)[None]}, {}),
    "gelu": ({"x": random(1, 5, STEPS)}, {}),
    "harmonic_source": (
        {
            "f0": 200 + 50 * random(1, STEPS),
            "noise": random(1, 20 * STEPS, 3),
            "weight": random(1, 3),
            "bias": random(1),
        },
        {"upsample": 20, "sample_rate": 1600, "amplitude": 0.1, "noise_std": 0.003, "voiced_threshold": 10.0},
    ),
    "istft": ({"x": random(1, 22, STEPS)}, {"n_fft": 20, "hop": 5}),
    "layer_norm": ({"x": random(1, 5, STEPS), "weight": random(5), "bias": random(5)}, {"eps": 1e-5}),
    "linear": ({"x": random(1, 5), "weight": random(7, 5), "bias": random(7)}, {}),
    "lstm": (
        {
            "forward": random(1, 20, STEPS),
            "backward": random(1, 20, STEPS),
            "weight_forward": random(20, 5),
            "bias_forward": random(20),
            "weight_backward": random(20, 5),
            "bias_backward": random(20),
        },
        {},
    ),
    "project": ({"x": random(1, 5, STEPS), "weight": random(1, 5, 1), "bias": random(1)}, {}),
    "stft": ({"x": random(1, 5 * STEPS)}, {"n_fft": 20, "hop": 5}),
    "upsample_pool": (
        {"x": random(1, 5, STEPS), "weight": random(5, 1, 3), "bias": random(5), "norm": random(3, 5)},
        {"slope": 0.2},
    ),
}
