"""Sample calls of every operation at any length.

Each has one small call with every optional argument but the length, and a hypothesis strategy for others.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import torch
from hypothesis import strategies as st
from torch import Tensor

from kokoro_tvm.runtime.session.noise import seed_words

from .support import assert_near, filtered, random

STEPS = 37


@dataclass(frozen=True)
class Use:
    """A sample call: tensors(steps) returns arguments, near(actual, expected) asserts that results agree."""

    tensors: Callable[[int], dict[str, Tensor | None]]
    attributes: dict[str, Any] = field(default_factory=dict)
    shortest: int = 1
    near: Callable[[np.ndarray, np.ndarray], None] = assert_near


def style(channels: int, size: int = 9) -> dict[str, Tensor | None]:
    """Create a style and the layer that computes gamma and beta from it."""
    return {
        "style": random(1, size, seed=2),
        "style_weight": random(2 * channels, size, seed=5) / size**0.5,
        "style_bias": random(2 * channels, seed=6),
    }


def adain_coefficients(channels: int) -> Use:
    def tensors(slots: int) -> dict[str, Tensor | None]:
        """Blocks of 1 to 9 steps, every fourth one empty, but for the first."""
        moments = random(slots, 4, channels)
        moments[:, 2] = moments[:, 2].abs() * 10 + moments[:, 1] ** 2  # no less than the mean's share
        moments[:, 3] = (torch.arange(slots)[:, None] * 5 % 9 + 1).float()
        moments[3::4, 3] = 0
        return {"moments": moments, **style(channels), **_affine(channels)}

    return Use(tensors)


def attention(heads: int, size: int) -> Use:
    names = ("query", "key", "value")
    return Use(
        lambda steps: {name: random(1, steps, heads * size, seed=i) for i, name in enumerate(names)},
        {"heads": heads},
    )


def conv1d(
    inputs: int, outputs: int, taps: int, stride: int, dilation: int, padding: int, tolerant: bool
) -> Use:
    shortest = max(1, dilation * (taps - 1) + 1 - 2 * padding)

    def tensors(steps: int) -> dict[str, Tensor | None]:
        result = (steps + 2 * padding - dilation * (taps - 1) - 1) // stride + 1
        return {
            "x": random(1, steps, inputs),
            "weight": random(outputs, inputs, taps, seed=2) / (inputs * taps) ** 0.5,
            "bias": random(outputs, seed=3),
            "norm": random(3, inputs, seed=4),
            "alpha": random(inputs, seed=5).abs() + 0.1,
            "residual": random(1, result, outputs, seed=6),
            "added": random(1, result, outputs, seed=7),
        }

    attributes = {
        "stride": stride,
        "padding": padding,
        "dilation": dilation,
        "gain": 0.5,
        "tolerant": tolerant,
    }
    return Use(
        tensors,
        attributes,
        shortest,
        partial(assert_near, tolerance=filtered(taps)) if tolerant else assert_near,
    )


def conv_transpose1d(inputs: int, outputs: int, stride: int, lead: bool, tolerant: bool = False) -> Use:
    return Use(
        lambda steps: {
            "x": random(1, steps, inputs),
            "weight": random(inputs, outputs, 2 * stride, seed=2) / (2 * inputs) ** 0.5,
            "bias": random(outputs, seed=3),
            "residual": random(1, stride * steps + lead, outputs, seed=4),
        },
        {"stride": stride, "slope": 0.1, "lead": lead, "tolerant": tolerant},
    )


def embedding(rows: int, channels: int) -> Use:
    return Use(
        lambda steps: {
            "weight": random(rows, channels),
            "ids": torch.arange(steps)[None] * 7 % (rows + 4) - 2,
        },
        near=np.testing.assert_array_equal,
    )


def gelu(channels: int) -> Use:
    return Use(lambda steps: {"x": random(1, steps, channels)})


def harmonic_source(upsample: int, harmonics: int) -> Use:
    return Use(
        lambda steps: {
            "f0": 200 + 50 * random(1, steps),
            "noise": random(1, upsample * steps, seed=2),
            "weight": random(1, harmonics, seed=3),
            "bias": random(1, seed=4),
        },
        {
            "upsample": upsample,
            "sample_rate": 80 * upsample,
            "amplitude": 0.1,
            "noise_std": 0.003,
            "voiced_threshold": 170.0,
        },
    )


def istft(hop: int) -> Use:
    size = 4 * hop
    return Use(lambda frames: {"x": random(1, frames, size + 2)}, {"n_fft": size, "hop": hop}, shortest=2)


def join(*channels: int) -> Use:
    return Use(
        lambda steps: {
            name: random(1, steps, width, seed=i)
            for i, (name, width) in enumerate(zip("abcd", channels, strict=False))
        },
        near=np.testing.assert_array_equal,
    )


def layer_norm(channels: int, slope: float) -> Use:
    return Use(
        lambda steps: {"x": random(1, steps, channels), **_affine(channels)}, {"eps": 1e-5, "slope": slope}
    )


def linear(inputs: int, outputs: int) -> Use:
    return Use(
        lambda steps: {
            "x": random(1, inputs, seed=steps),
            "weight": random(outputs, inputs, seed=2),
            "bias": random(outputs, seed=3),
        }
    )


def lstm(hidden: int) -> Use:
    def tensors(steps: int) -> dict[str, Tensor | None]:
        arguments: dict[str, Tensor | None] = {
            name: random(1, steps, 4 * hidden, seed=i) for i, name in enumerate(("forward", "backward"))
        }
        for i, name in enumerate(("forward", "backward")):
            arguments[f"weight_{name}"] = random(4 * hidden, hidden, seed=10 + i) / hidden**0.5
            arguments[f"bias_{name}"] = random(4 * hidden, seed=20 + i)
        return arguments

    return Use(tensors)


def moments(channels: int) -> Use:
    return Use(lambda steps: {"x": random(1, steps, channels)}, near=assert_moments)


def assert_moments(got: np.ndarray, want: np.ndarray, tolerance: float = 1e-6) -> None:
    """Assert that all blocks together have the same mean and variance, to the precision of float32 sums."""
    # Which steps form a block is the kernel's choice.
    assert got.shape == want.shape
    (steps, mean, variance), (all_steps, true_mean, true_variance) = combined(got), combined(want)
    assert (steps == all_steps).all()
    assert (np.abs(mean - true_mean) <= tolerance * np.sqrt(true_variance)).all()
    assert (np.abs(variance - true_variance) <= 2 * tolerance * true_variance).all()


def combined(moments: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return (steps, mean, variance) of each channel, float64, from the moments of all blocks."""
    pivot, total, squares, steps = moments[moments[:, 3, 0] > 0].astype(np.float64).transpose(1, 0, 2)
    assert (steps == steps[:, :1]).all(), "channels disagree about how many steps there are"
    means = pivot + total / steps
    mean = (means * steps).sum(0) / steps.sum(0)
    variance = (squares - total**2 / steps + steps * (means - mean) ** 2).sum(0) / steps.sum(0)
    return steps.sum(0), mean, variance


def normal_noise(upsample: int, seed: int) -> Use:
    words = torch.from_numpy(seed_words(seed, 3))
    return Use(lambda steps: {"f0": random(1, steps), "seed": words}, {"upsample": upsample})


def project(channels: int) -> Use:
    return Use(
        lambda steps: {
            "x": random(1, steps, channels),
            "weight": random(1, channels, 1, seed=2),
            "bias": random(1, seed=3),
        }
    )


def stft(hop: int) -> Use:
    size = 4 * hop

    def near(actual: np.ndarray, want: np.ndarray) -> None:
        """As complex numbers: -pi and pi are one phase, and the phase of nothing is nothing."""
        assert_near(points(actual), points(want), 5e-7)

    return Use(lambda samples: {"x": random(1, samples)}, {"n_fft": size, "hop": hop}, size // 2 + 1, near)


def points(spectrum: np.ndarray) -> np.ndarray:
    """Convert magnitudes and phases (..., 2*bins) to complex numbers (..., bins)."""
    magnitude, phase = np.split(spectrum.astype(np.float64), 2, axis=-1)
    return magnitude * np.exp(1j * phase)


def upsample_pool(channels: int, slope: float) -> Use:
    return Use(
        lambda steps: {
            "x": random(1, steps, channels),
            "weight": random(channels, 1, 3, seed=2),
            "bias": random(channels, seed=3),
            "norm": random(3, channels, seed=4),
        },
        {"slope": slope},
    )


def _affine(channels: int) -> dict[str, Tensor | None]:
    return {"weight": random(channels, seed=3), "bias": random(channels, seed=4)}


# Channels that are a vector and some more, whatever its width.
USES: dict[str, Use] = {
    "adain_coefficients": adain_coefficients(21),
    "attention": attention(2, 21),
    "conv1d": conv1d(21, 39, 3, stride=1, dilation=2, padding=2, tolerant=False),
    "conv_transpose1d": conv_transpose1d(5, 39, 6, lead=True),
    "embedding": embedding(9, 21),
    "gelu": gelu(21),
    "harmonic_source": harmonic_source(20, 3),
    "istft": istft(5),
    "join": join(21, 39, 1, 1),
    "layer_norm": layer_norm(21, 1.0),
    "linear": linear(5, 7),
    "lstm": lstm(5),
    "moments": moments(21),
    "normal_noise": normal_noise(34, 2**63 + 7),
    "project": project(21),
    "stft": stft(5),
    "upsample_pool": upsample_pool(21, 0.2),
}

SAMPLES: dict[str, tuple[dict[str, Tensor | None], dict[str, Any]]] = {
    name: (use.tensors(STEPS), use.attributes) for name, use in USES.items()
}

_CHANNELS = st.integers(1, 70)
_SLOPES = st.sampled_from([1.0, 0.2, 0.01])

STRATEGIES: dict[str, st.SearchStrategy[Use]] = {
    "adain_coefficients": st.builds(adain_coefficients, _CHANNELS),
    "attention": st.builds(attention, st.integers(1, 4), st.integers(1, 40)),
    "conv1d": st.builds(
        conv1d,
        _CHANNELS,
        st.one_of(_CHANNELS, st.sampled_from([32, 64])),
        st.integers(1, 12),
        stride=st.just(1),
        dilation=st.sampled_from([1, 2, 3, 5]),
        padding=st.integers(0, 30),
        tolerant=st.booleans(),
    )
    | st.builds(
        conv1d,
        _CHANNELS,
        _CHANNELS,
        st.integers(1, 12),
        stride=st.integers(2, 6),
        dilation=st.just(1),
        padding=st.integers(0, 5),
        tolerant=st.booleans(),
    ),
    "conv_transpose1d": st.builds(
        conv_transpose1d, _CHANNELS, _CHANNELS, st.sampled_from([2, 4, 6, 10]), st.booleans()
    ),
    "embedding": st.builds(embedding, st.integers(1, 30), _CHANNELS),
    "gelu": st.builds(gelu, _CHANNELS),
    "harmonic_source": st.builds(harmonic_source, st.sampled_from([2, 6, 34, 60]), st.integers(1, 9)),
    "istft": st.builds(istft, st.integers(1, 4)),
    "join": st.lists(_CHANNELS, min_size=2, max_size=4).map(lambda channels: join(*channels)),
    "layer_norm": st.builds(layer_norm, _CHANNELS, _SLOPES),
    "linear": st.builds(linear, st.integers(1, 200), st.integers(1, 200)),
    "lstm": st.builds(lstm, st.integers(1, 70)),
    "moments": st.builds(moments, _CHANNELS),
    "normal_noise": st.builds(normal_noise, st.integers(1, 70), st.integers(0, 2**64 - 1)),
    "project": st.builds(project, _CHANNELS),
    "stft": st.builds(stft, st.integers(2, 6)),
    "upsample_pool": st.builds(upsample_pool, _CHANNELS, _SLOPES),
}
