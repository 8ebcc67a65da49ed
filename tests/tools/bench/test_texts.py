"""The texts: of the lengths they are named for, and sayable."""

from __future__ import annotations

import pytest

from kokoro_tvm.common.errors import InputError
from kokoro_tvm.model.kokoro import load_shipped_config
from kokoro_tvm.tools.bench.texts import TEXTS, choose_texts


def test_every_symbol_is_known_and_every_utterance_fits() -> None:
    vocabulary = load_shipped_config()["vocab"]
    for text in TEXTS:
        for phonemes in text.utterances:
            assert set(phonemes) <= set(vocabulary)
            assert len(phonemes) <= 510


def test_lengths() -> None:
    tokens = {text.name: sum(len(symbols) + 2 for symbols in text.utterances) for text in TEXTS}
    assert tokens["short"] == 15
    assert 80 <= tokens["medium"] <= 90
    assert 330 <= tokens["long"] <= 350
    assert list(tokens.values()) == sorted(tokens.values())


def test_choice_is_in_rising_length() -> None:
    assert [text.name for text in choose_texts(None)] == ["short", "medium", "long", "minute"]
    assert [text.name for text in choose_texts(["long", "short"])] == ["short", "long"]


def test_unknown_text() -> None:
    with pytest.raises(InputError, match=r"no text 'longer'.*short, medium, long, minute"):
        choose_texts(["longer"])
