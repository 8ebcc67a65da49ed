"""Texts of the benchmark: symbols and lengths."""

from __future__ import annotations

import pytest

from kokoro_tvm.common.errors import InputError
from kokoro_tvm.model.kokoro import load_shipped_config
from kokoro_tvm.tools.bench.texts import TEXTS, choose_texts


def test_texts_fit_the_model() -> None:
    vocabulary = load_shipped_config()["vocab"]
    for text in TEXTS:
        for phonemes in text.utterances:
            assert set(phonemes) <= set(vocabulary)
            assert len(phonemes) <= 510


def test_texts_have_their_lengths() -> None:
    tokens = {text.name: sum(len(symbols) + 2 for symbols in text.utterances) for text in TEXTS}
    assert tokens["short"] == 15
    assert 80 <= tokens["medium"] <= 90
    assert 330 <= tokens["long"] <= 350
    assert list(tokens.values()) == sorted(tokens.values())


def test_choose_texts_keeps_ascending_length() -> None:
    assert [text.name for text in choose_texts(None)] == ["short", "medium", "long", "minute"]
    assert [text.name for text in choose_texts(["long", "short"])] == ["short", "long"]


def test_choose_texts_refuses_an_unknown_name() -> None:
    with pytest.raises(InputError, match=r"no text 'longer'.*short, medium, long, minute"):
        choose_texts(["longer"])
