"""On the real weights: words are where the waveform has them, and joins are as planned."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from timing import TEXTS, below_marks, ends_at_speed, measure

from kokoro_tvm import Synthesizer

BUNDLE = Path(__file__).parents[1] / "artifacts" / "cpu"

pytestmark = [pytest.mark.nightly, pytest.mark.weights]


@pytest.fixture(scope="module")
def tts() -> Synthesizer:
    if not (BUNDLE / "bundle.json").exists():
        pytest.skip("artifacts/cpu is not built")
    return Synthesizer(BUNDLE)


@pytest.mark.parametrize("voice", sorted(TEXTS))
@pytest.mark.parametrize("speed", [1.0, 0.8, 1.3])
def test_silences_lie_between_words(tts: Synthesizer, voice: str, speed: float) -> None:
    timing = measure(tts, voice, TEXTS[voice], speed)
    assert timing.errors
    assert float(np.median(timing.errors)) < (0.03 if speed <= 1 else 0.05)
    assert max(timing.errors) < 0.1
    assert timing.stray == 0


@pytest.mark.parametrize("voice", sorted(TEXTS))
def test_joins(tts: Synthesizer, voice: str) -> None:
    timing = measure(tts, voice, TEXTS[voice])
    assert all(abs(heard - requested) < 0.15 and heard < 0.9 for requested, heard in timing.gaps)
    assert timing.step < 0.02


@pytest.mark.parametrize("voice", sorted(TEXTS))
def test_nothing_is_heard_before_the_first_word_and_below_marks(tts: Synthesizer, voice: str) -> None:
    slow, _ = ends_at_speed(tts, voice, TEXTS[voice], 0.6)
    assert slow < -35
    assert below_marks(tts, voice, TEXTS[voice])[1] < -60
