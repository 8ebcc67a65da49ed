"""Expectations: one for each utterance of the corpus, made of what it is now.

Dust does not move a fingerprint; another voice, loudness, length or a shift by a frame does.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kokoro_tvm.validation.measure import expectations as module
from kokoro_tvm.validation.measure.expectations import (
    BANDS,
    CENTROID_TOLERANCE_MS,
    FLOOR_DB,
    LEVEL_TOLERANCE_DB,
    SEGMENTS,
    Expectation,
    Fingerprint,
    compute_fingerprint,
    read_expectations,
    write_expectations,
)
from kokoro_tvm.validation.reference.corpus import corpus, utterance_digest

FRAME = 600


def speech(seed: int = 0, frames: int = 60, pitch: float = 120.0) -> np.ndarray:
    """Synthesize harmonics, pauses and hiss as loud as speech."""
    generator = np.random.default_rng(seed)
    time = np.arange(FRAME * frames) / 24000
    envelope = np.repeat(generator.random(frames) ** 2, FRAME)
    harmonics = sum(np.sin(2 * np.pi * pitch * k * time) / k for k in range(1, 9))
    return 0.1 * envelope * (harmonics + 0.2 * generator.normal(size=time.size))


def expectation(audio: np.ndarray) -> Expectation:
    return Expectation("", audio.size // FRAME, compute_fingerprint(audio))


@given(st.integers(0, 50), st.integers(30, 1000), st.integers(0, 2**32 - 1))
def test_fingerprint_ignores_float32_errors(seed: int, frames: int, dust: int) -> None:
    truth = speech(seed, frames)
    # 30 dB below the signal wherever it is: how far PyTorch float32 is from float64.
    error = 10 ** (-30 / 20) * truth * np.random.default_rng(dust).normal(size=truth.size)
    assert expectation(truth).missed(np.array([frames]), truth + error) == []


@pytest.mark.parametrize("frames", [30, 200, 1400])
def test_fingerprint_detects_errors(frames: int) -> None:
    truth = speech(3, frames)
    result = expectation(truth)
    wrong = {
        "a higher voice": speech(3, frames, pitch=190.0),
        "other words": speech(4, frames),
        "15 % louder": truth * 1.15,
        "a frame late": np.roll(truth, FRAME),
        "dull": np.convolve(truth, np.ones(4) / 4, "same"),
        "silent": np.zeros_like(truth),
    }
    assert [name for name, audio in wrong.items() if not result.missed(np.array([frames]), audio)] == []
    assert result.missed(np.array([frames, 1]), np.append(truth, np.zeros(FRAME)))[0] == (
        f"{frames + 1} frames where {frames} are due"
    )


def test_missed_lists_values_and_limits() -> None:
    truth = speech()
    result = expectation(truth)
    (loud,) = result.missed(np.array([60]), truth * 2)
    assert re.fullmatch(rf"a band is 6\.[01] dB off, {LEVEL_TOLERANCE_DB:g} are allowed", loud)
    late = result.missed(np.array([60]), np.roll(truth, FRAME))
    assert any(f"ms elsewhere, {CENTROID_TOLERANCE_MS:g} are allowed" in line for line in late)


@given(st.integers(1, 5000), st.integers(0, 2**32 - 1))
def test_fingerprint_of_any_length_survives_json(samples: int, seed: int) -> None:
    fingerprint = compute_fingerprint(np.random.default_rng(seed).normal(size=samples))
    assert np.array(fingerprint.levels_db).shape == (SEGMENTS, BANDS)
    assert 0 <= fingerprint.centroid_ms <= samples / 24
    assert Fingerprint.from_json(json.loads(json.dumps(fingerprint.to_json()))) == fingerprint


def test_fingerprint_equals_its_definition() -> None:
    click = np.zeros(2400)
    click[1200] = 1.0
    assert compute_fingerprint(click).centroid_ms == 50.0
    silent = compute_fingerprint(np.zeros(2400))
    assert silent.centroid_ms == 0.0
    assert {level for row in silent.levels_db for level in row} == {FLOOR_DB}
    loud, louder = compute_fingerprint(100 * speech()), compute_fingerprint(1000 * speech())
    assert louder.level_distance_db(loud) == pytest.approx(20.0, abs=0.11)


@pytest.mark.parametrize(
    "data",
    [{}, {"levels_db": "1/2 3/4", "centroid_ms": 1.0}, {"levels_db": "x", "centroid_ms": 1.0}],
)
def test_from_json_refuses_other_data(data: dict) -> None:
    with pytest.raises((KeyError, ValueError)):
        Fingerprint.from_json(data)


def test_fingerprint_refuses_invalid_audio() -> None:
    with pytest.raises(ValueError, match="not finite"):
        compute_fingerprint(np.array([1.0, np.nan]))
    with pytest.raises(ValueError, match="samples"):
        compute_fingerprint(np.zeros((1, 5)))


def test_expectations_match_the_corpus() -> None:
    """If it fails: kokoro-tvm validate corpus --update."""
    expectations = read_expectations()
    assert [(u.name, utterance_digest(u)) for u in corpus()] == [
        (n, e.utterance) for n, e in expectations.items()
    ]
    assert all(
        expected.frames >= len(u.phonemes) + 2
        for u, expected in zip(corpus(), expectations.values(), strict=True)
    )


def test_fingerprints_distinguish_utterances() -> None:
    prints = [e.fingerprint for e in read_expectations().values()]
    nearest = min(a.level_distance_db(b) for i, a in enumerate(prints) for b in prints[:i])
    assert nearest > 3.0


def test_write_expectations_reproduces_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expectations = read_expectations()
    before = module._FILE.read_bytes()
    monkeypatch.setattr(module, "_FILE", tmp_path / "expectations.json")
    write_expectations(expectations)
    assert (tmp_path / "expectations.json").read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["expectations.json"]
