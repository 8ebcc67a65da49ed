"""The gate on the noise, which no comparison with a reference would notice."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from examples import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from kokoro_tvm.common.noise import draw_noise
from kokoro_tvm.validation.measure import noise as judged
from kokoro_tvm.validation.measure.noise import judge_noise


def statuses(seed: int = 2**32 + 4, piece: int = 2) -> dict[str, str]:
    return {verdict.gate: verdict.status for verdict in judge_noise(seed, piece)}


def test_correct_noise_passes() -> None:
    assert statuses() == {"max_random_words_off": "passed", "max_noise_deviation": "passed"}


@settings(max_examples=examples(10))
@given(st.integers(0, 2**64 - 1), st.integers(0, 2**32 - 1))
def test_of_any_seed_and_piece(seed: int, piece: int) -> None:
    """One noise of some 100,000 exceeds five standard errors."""
    assert judged.measure_deviation(seed, piece) < 6


@pytest.mark.parametrize(
    "spoil",
    [
        lambda seed, samples, piece: np.abs(draw_noise(seed, samples, piece)),
        lambda seed, samples, piece: 1.05 * draw_noise(seed, samples, piece),
        lambda seed, samples, piece: draw_noise(seed, samples, 0),
        lambda seed, samples, piece: draw_noise(seed & 0xFFFFFFFF, samples, piece),
        lambda seed, samples, piece: draw_noise(seed >> 32, samples, piece),
        lambda seed, samples, piece: np.repeat(draw_noise(seed, samples // 2, piece), 2),
        lambda seed, samples, piece: np.sign(draw_noise(seed, samples, piece)),
    ],
    ids=["magnitudes", "louder", "no piece", "half a seed", "the other half", "each twice", "signs"],
)
def test_wrong_noise_fails(spoil: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judged, "draw_noise", spoil)
    assert statuses()["max_noise_deviation"] == "failed"


@pytest.mark.parametrize("bits", [12, 19, 31])
def test_noise_that_repeats_after_a_long_stretch_fails(bits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A counter of 19 bits repeats the noise after 87 s."""
    block = judged.block

    def repeat(words: Any, place: Any, *rest: Any) -> Any:
        return block(words, place & np.uint32(2**bits - 1), *rest)

    monkeypatch.setattr(judged, "block", repeat)
    assert statuses()["max_noise_deviation"] == "failed"


def test_wrong_random_words_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    philox = judged.philox
    monkeypatch.setattr(judged, "philox", lambda words, counter, key: philox(words, key + key, key))
    assert statuses()["max_random_words_off"] == "failed"
