"""The corpus: 60 utterances of every kind and voice, each with what the stock model made of it."""

from __future__ import annotations

from collections import Counter

import pytest

from kokoro_tvm.errors import InputError
from kokoro_tvm.model.kokoro import shipped_config
from kokoro_tvm.runtime.voices import LANGUAGES
from kokoro_tvm.validate.corpus import choose, corpus, expectations, utterance_digest, write_expectations

KINDS = {"sound", "word", "name", "number", "question", "sentence", "clause"}


def test_sixty_of_every_kind_language_and_length() -> None:
    utterances = corpus()
    assert len(utterances) == len({u.name for u in utterances}) == len({u.seed for u in utterances}) == 60
    assert {u.kind for u in utterances} == KINDS
    assert {u.voice[0] for u in utterances} == set(LANGUAGES)
    assert len({u.voice for u in utterances}) == 54, "every voice of Kokoro-82M"
    lengths = sorted(len(u.phonemes) for u in utterances)
    assert (lengths[0], lengths[-1]) == (1, 510)
    assert sum(length >= 100 for length in lengths) >= 8
    kinds = Counter((u.voice[0], u.kind) for u in utterances)
    assert all(sum(code == c for c, _ in kinds) >= 2 for code in LANGUAGES)


def test_the_model_knows_every_phoneme() -> None:
    vocabulary = set(shipped_config()["vocab"])
    assert {u.name: "".join(set(u.phonemes) - vocabulary) for u in corpus()} == dict.fromkeys(
        (u.name for u in corpus()), ""
    )


def test_every_utterance_has_the_expectation_made_of_it() -> None:
    """If not: kokoro-tvm validate corpus --update"""
    told = expectations()
    assert [(u.name, utterance_digest(u)) for u in corpus()] == [(n, e.utterance) for n, e in told.items()]
    assert all(
        expected.frames >= len(u.phonemes) + 2 for u, expected in zip(corpus(), told.values(), strict=True)
    )


def test_fingerprints_tell_the_utterances_apart() -> None:
    prints = [e.fingerprint for e in expectations().values()]
    nearest = min(a.level_distance_db(b) for i, a in enumerate(prints) for b in prints[:i])
    assert nearest > 3.0


def test_the_file_is_what_would_be_written(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    from kokoro_tvm.validate import corpus as module

    told = expectations()
    before = (module._FOLDER / "corpus.json").read_bytes()
    monkeypatch.setattr(module, "_FOLDER", tmp_path)
    write_expectations(told)
    assert (tmp_path / "corpus.json").read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["corpus.json"]


def test_choose() -> None:
    assert [u.name for u in choose(["zh-name", "word-no"], corpus())] == ["zh-name", "word-no"]
    with pytest.raises(InputError, match="no utterance `zh-nane`; did you mean `zh-name`"):
        choose(["zh-nane"], corpus())
