"""The whole thing on the real weights: `doit` in this checkout, as a user types it, and what it says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from kokoro_tvm import Synthesizer
from kokoro_tvm.tools.lab.corpus import check_bundle
from kokoro_tvm.validation.measure.metrics import magnitude_correlation
from kokoro_tvm.validation.reference.corpus import corpus
from kokoro_tvm.validation.reference.reference import Reference, load_reference

ROOT = Path(__file__).parents[1]
BUNDLE = ROOT / "artifacts" / "cpu"

pytestmark = [pytest.mark.slow("builds the real weights"), pytest.mark.weights]


def _doit() -> str:
    done = subprocess.run(
        [sys.executable, "-m", "doit"], cwd=ROOT, capture_output=True, text=True, stdin=subprocess.DEVNULL
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return done.stdout


@pytest.fixture(scope="module")
def built() -> Path:
    _doit()
    return BUNDLE


@pytest.fixture(scope="module")
def short(built: Path) -> Reference:
    return load_reference(ROOT / "artifacts" / "reference" / "kokoro-82m" / "short.safetensors")


def test_says_hello_world_like_the_stock_model(built: Path, short: Reference) -> None:
    tts = Synthesizer(built)
    speech = tts.run(short.tokens[0], short.ref_s, speed=short.speed, seed=short.seed)
    assert speech.sample_rate == 24000
    assert 1.4 <= len(speech.audio) / speech.sample_rate <= 1.8
    assert np.isfinite(speech.audio).all() and np.abs(speech.audio).max() > 0.05
    assert magnitude_correlation(speech.audio, np.ravel(short.truth.audio)) >= 0.9999
    assert magnitude_correlation(speech.audio, np.ravel(short.dynamic.audio)) >= 0.9999


def test_given_noise_is_what_the_seed_draws(built: Path, short: Reference) -> None:
    tts = Synthesizer(built)
    drawn = tts.run(short.tokens[0], short.ref_s, seed=short.seed)
    noise = short.noise()[0]
    given = tts.run(short.tokens[0], short.ref_s, noise=noise)
    called = tts.run(short.tokens[0], short.ref_s, noise=lambda samples: noise[:samples])
    other = tts.run(short.tokens[0], short.ref_s, seed=short.seed + 1)
    np.testing.assert_array_equal(drawn.audio, given.audio)
    np.testing.assert_array_equal(drawn.audio, called.audio)
    assert not np.array_equal(drawn.audio, other.audio)


def test_a_second_build_has_nothing_to_do(built: Path) -> None:
    assert "Nothing to do" in _doit()


def test_says_the_corpus_as_it_always_did(built: Path) -> None:
    """One utterance in four of every length and language, against what float64 said on another machine."""
    check = check_bundle(Synthesizer(built), [u.name for u in corpus()[::4]])
    assert check.passed, check.lines()
    assert not check.not_run
