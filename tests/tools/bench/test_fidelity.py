"""Fidelity: likeness of magnitudes, whatever the loudness and the lengths of tokens."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from kokoro_tvm.common.constants import SAMPLE_RATE, SAMPLES_PER_FRAME
from kokoro_tvm.tools.bench.fidelity import fidelity


def tones(*pitches: float, frames: int = 12, seed: int | None = None) -> NDArray[np.float64]:
    """Return a tone of a number of frames for each pitch in Hz, with noise if there is a seed."""
    time = np.arange(frames * SAMPLES_PER_FRAME) / SAMPLE_RATE
    audio = np.concatenate([np.sin(2 * np.pi * pitch * time) for pitch in pitches])
    return audio if seed is None else audio + 0.1 * np.random.default_rng(seed).standard_normal(audio.size)


SPEECH = tones(200, 300, 450, seed=1)


def test_same_speech_is_1_at_any_loudness() -> None:
    assert fidelity(SPEECH, SPEECH) == fidelity(0.25 * SPEECH, SPEECH) == 1.0


def test_noise_and_pitch_cost_fidelity() -> None:
    other_noise = fidelity(tones(200, 300, 450, seed=2), SPEECH)
    other_pitch = fidelity(tones(220, 330, 495, seed=1), SPEECH)
    assert 0.98 < other_noise < 0.999
    assert other_pitch < 0.7


def test_longer_token_costs_little() -> None:
    truth = np.concatenate([tones(200), tones(300), tones(450)])
    longer = np.concatenate([tones(200, frames=14), tones(300, frames=11), tones(450)])
    assert fidelity(longer, truth) > 0.99
    assert fidelity(np.roll(truth, SAMPLES_PER_FRAME), truth) > 0.98


def test_other_speech_is_0() -> None:
    broken = SPEECH.copy()
    broken[7] = np.nan
    assert fidelity(broken, SPEECH) == 0.0
    assert fidelity(np.tile(SPEECH, 2), SPEECH) == 0.0
    assert fidelity(np.zeros_like(SPEECH), SPEECH) == pytest.approx(0.0)
