"""The corpus: 60 utterances of every kind, language and voice."""

from __future__ import annotations

from collections import Counter

import pytest

from kokoro_tvm.common.errors import InputError
from kokoro_tvm.model.kokoro import load_shipped_config
from kokoro_tvm.runtime.bundle.voices import LANGUAGES
from kokoro_tvm.validation.reference.corpus import choose, corpus

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
    vocabulary = set(load_shipped_config()["vocab"])
    assert {u.name: "".join(set(u.phonemes) - vocabulary) for u in corpus()} == dict.fromkeys(
        (u.name for u in corpus()), ""
    )


def test_choose() -> None:
    assert [u.name for u in choose(["zh-name", "word-no"], corpus())] == ["zh-name", "word-no"]
    with pytest.raises(InputError, match="no utterance `zh-nane`; did you mean `zh-name`"):
        choose(["zh-nane"], corpus())
