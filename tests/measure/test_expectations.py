"""Expectations: one for each utterance of the corpus, made of what it is now."""

from __future__ import annotations

from pathlib import Path

import pytest

from kokoro_tvm.measure import expectations as module
from kokoro_tvm.measure.expectations import expectations, write_expectations
from kokoro_tvm.truth.corpus import corpus, utterance_digest


def test_every_utterance_has_the_expectation_made_of_it() -> None:
    """If not: kokoro-tvm validate corpus --update"""
    kept = expectations()
    assert [(u.name, utterance_digest(u)) for u in corpus()] == [(n, e.utterance) for n, e in kept.items()]
    assert all(
        expected.frames >= len(u.phonemes) + 2 for u, expected in zip(corpus(), kept.values(), strict=True)
    )


def test_fingerprints_tell_the_utterances_apart() -> None:
    prints = [e.fingerprint for e in expectations().values()]
    nearest = min(a.level_distance_db(b) for i, a in enumerate(prints) for b in prints[:i])
    assert nearest > 3.0


def test_the_file_is_what_would_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = expectations()
    before = module._FILE.read_bytes()
    monkeypatch.setattr(module, "_FILE", tmp_path / "expectations.json")
    write_expectations(kept)
    assert (tmp_path / "expectations.json").read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["expectations.json"]
