"""From pitch to excitation, and to and from its spectrum. Every elementary function counts as one."""

from __future__ import annotations

import torch

from kernels.support import random
from kokoro_tvm.runtime.session.noise import seed_words

from .conftest import Kernel
from .sizes import HALF_FRAMES, SAMPLES, SECOND

SIZES = {"n_fft": 20, "hop": 5}
BINS, HARMONICS = 11, 9


def test_normal_noise(kernel: Kernel) -> None:
    """A number counts as one."""
    tensors = {"f0": random(1, HALF_FRAMES), "seed": torch.from_numpy(seed_words(1, 0))}
    kernel("normal_noise", tensors, {"upsample": 300}, flops=SAMPLES)


def test_harmonic_source(kernel: Kernel) -> None:
    """For each harmonic of a sample: its phase, sine, level and weight; then the noise."""
    tensors = {
        "f0": 200 + 50 * random(1, HALF_FRAMES),
        "noise": random(1, SAMPLES, seed=2),
        "weight": random(1, HARMONICS, seed=3),
        "bias": random(1, seed=4),
    }
    levels = {"amplitude": 0.1, "noise_std": 0.003, "voiced_threshold": 10.0}
    attributes = {"upsample": 300, "sample_rate": 24000, **levels}
    kernel("harmonic_source", tensors, attributes, flops=SAMPLES * (7 * HARMONICS + 2))


def test_stft(kernel: Kernel) -> None:
    flops = SECOND * (4 * BINS * SIZES["n_fft"] + 5 * BINS)
    kernel("stft", {"x": random(1, SAMPLES)}, SIZES, flops=flops)


def test_istft(kernel: Kernel) -> None:
    flops = SECOND * (4 * BINS * SIZES["n_fft"] + 6 * BINS)
    kernel("istft", {"x": random(1, SECOND, 2 * BINS)}, SIZES, flops=flops)
