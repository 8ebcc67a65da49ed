"""The noise: known answers of its random words, accuracy and distribution of its normal numbers."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kokoro_tvm.common.noise import NUMPY, deviate, draw_noise, philox
from kokoro_tvm.runtime.session.noise import seed_words
from kokoro_tvm.validation.measure.noise import KNOWN_WORDS

COUNT = 1 << 20


def words(*values: int) -> tuple[np.ndarray, ...]:
    return tuple(np.array([value], np.uint32) for value in values)


@pytest.mark.parametrize(("counter", "key", "random"), KNOWN_WORDS)
def test_philox_returns_published_words(
    counter: tuple[int, ...], key: tuple[int, ...], random: tuple[int, ...]
) -> None:
    assert tuple(int(word[0]) for word in philox(NUMPY, words(*counter), words(*key))) == random


def test_noise_of_a_seed_never_changes() -> None:
    # The speech of every seed depends on these bits.
    steps = [-1497450, 552128, -828302, 1498268, 3163741, 549428, -1066709, -2493018]
    assert (draw_noise(2**40 + 5, 8, piece=3) * 2**21).tolist() == steps


def transform(radius: np.ndarray, turn: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Box and Muller's in float64, of the u and the turn that `deviate` documents: (number, radius)."""
    zeros = np.array([31 if not word else 32 - int(word).bit_length() for word in radius])
    t = ((radius.astype(np.uint64) << zeros.astype(np.uint64)) << np.uint64(1)) & np.uint64(0xFFFFFFFF)
    logarithm = zeros * math.log(2) - np.log1p(-(2.0**32 - 1 - t) / 2**33)
    length = np.sqrt(2 * logarithm)
    return length * np.sin(2 * np.pi * (turn + 0.5) / 2**32), length


RADII = {
    "any": np.random.default_rng(1).integers(0, 2**32, COUNT // 4),
    "large": np.arange(1 << 16),
    "small": 2**32 - 1 - np.arange(1 << 16),
}


@pytest.mark.parametrize("name", RADII)
def test_noise_equals_the_exact_transform(name: str) -> None:
    radius = RADII[name].astype(np.uint32)
    turn = np.random.default_rng(2).integers(0, 2**32, radius.size).astype(np.uint32)
    turn[: 1 << 14] = np.arange(1 << 14)
    want, length = transform(radius, turn)
    error = np.abs(deviate(NUMPY, radius, turn) - want)
    assert error[length >= 2**-11].max(initial=0.0) <= 2**-20
    assert error.max() <= 2**-17
    assert np.sqrt(np.mean(error**2)) <= (2**-19 if name == "small" else 2**-22.5)


def test_numbers_are_multiples_of_one_step() -> None:
    steps = draw_noise(9, COUNT).astype(np.float64) * 2**21
    assert np.array_equal(steps, np.rint(steps))
    assert np.abs(steps).max() < 2**24


def cdf(x: np.ndarray) -> np.ndarray:
    return 0.5 * np.vectorize(math.erfc)(-x / math.sqrt(2))


def test_distribution_is_normal() -> None:
    """Moments within five standard errors, Kolmogorov and Smirnov's distance under what 1 in 10,000 has."""
    x = draw_noise(0, COUNT).astype(np.float64)
    for power, moment, variance in ((1, 0, 1), (2, 1, 2), (3, 0, 15), (4, 3, 96), (6, 15, 10170)):
        assert abs(np.mean(x**power) - moment) <= 5 * math.sqrt(variance / COUNT), power
    ordered = cdf(np.sort(x))
    places = np.arange(COUNT + 1) / COUNT
    distance = max(np.abs(ordered - places[:-1]).max(), np.abs(ordered - places[1:]).max())
    assert distance * math.sqrt(COUNT) <= 2.23


@pytest.mark.parametrize("least", [3.0, 4.0, 4.5])
def test_tails_are_normal(least: float) -> None:
    count = 1 << 22
    expected = math.erfc(least / math.sqrt(2)) * count
    nonzero = np.count_nonzero(np.abs(draw_noise(77, count)) > least)
    assert abs(nonzero - expected) <= 5 * math.sqrt(expected)


def test_samples_and_seeds_and_pieces_are_independent() -> None:
    """Correlations of neighbours, of their squares, and of noises that differ in one bit of their keys."""
    x = draw_noise(1, COUNT).astype(np.float64)
    others = [x[lag:] for lag in (1, 2, 3, 4, 5, 8, 64, 256)]
    others += [
        draw_noise(seed, COUNT, piece) for seed, piece in ((0, 0), (3, 0), (1 + 2**32, 0), (1, 1), (1, 2**31))
    ]
    for y in others:
        a, b = x[: y.size], y.astype(np.float64)
        for first, second in ((a, b), (a**2 - 1, b**2 - 1)):
            scale = np.sqrt(np.mean(first**2) * np.mean(second**2))
            assert abs(np.mean(first * second) / scale) <= 5 / math.sqrt(y.size)


@given(st.integers(0, 2**64 - 1), st.integers(0, 2**32 - 1), st.integers(0, 300), st.integers(0, 300))
def test_longer_noise_begins_with_a_shorter_one(seed: int, piece: int, first: int, second: int) -> None:
    shorter, longer = sorted((first, second))
    assert np.array_equal(draw_noise(seed, longer, piece)[:shorter], draw_noise(seed, shorter, piece))


def test_one_channel_has_the_distribution_of_nine() -> None:
    """Nine channels weighted and summed, as the stock source does it, against one times the weights' norm."""
    weight = np.random.default_rng(3).standard_normal(9)
    nine = draw_noise(4, 9 * COUNT // 8).astype(np.float64).reshape(-1, 9) @ weight
    one = draw_noise(5, COUNT // 8).astype(np.float64) * np.linalg.norm(weight)
    places = np.sort(np.concatenate([nine, one]))
    apart = np.searchsorted(np.sort(nine), places, "right") - np.searchsorted(np.sort(one), places, "right")
    assert np.abs(apart).max() / one.size * math.sqrt(one.size / 2) <= 2.23
    assert np.var(nine) == pytest.approx(np.var(one), rel=5 * math.sqrt(4 / one.size))


def test_seed_words() -> None:
    assert seed_words(2**64 - 2, 7).tolist() == [2**32 - 2, 2**32 - 1, 7]
    assert seed_words(5, 0).dtype == np.uint32
