"""Alignment of words with the phonemes of a whole text."""

from __future__ import annotations

import pytest
from counted_calls import counted

from kokoro_tvm.runtime.text.frontend.strings import align_words


def spoken(text: str, phonemes: str, alone: list[str]) -> list[tuple[str, str]]:
    return [(token.text, token.phonemes) for token in align_words(text, phonemes, lambda words: alone)]


def test_align_words_cuts_joined_words() -> None:
    found = spoken("made of the stone", "mˈAd ʌvðə stˈOn", ["mˈAd", "ʌv", "ðə", "stˈOn"])
    assert found == [("made", "mˈAd"), ("of", "ʌv"), ("the", "ðə"), ("stone", "stˈOn")]


def test_align_words_handles_long_texts() -> None:
    words, sounds = ["one", "of", "them", "and"], ["wˈʌn", "ʌv", "ðˈɛm", "ænd"]
    found = spoken(" ".join(words * 300), "wˈʌn ʌvðˈɛm ænd " * 300, sounds * 300)
    assert found == list(zip(words, sounds, strict=True)) * 300


@pytest.mark.parametrize("symbol", ["x", "xy"])
def test_align_words_is_linear_for_repetitions(symbol: str) -> None:
    def calls(count: int) -> int:
        return counted(lambda: spoken("a b", symbol * count, ["b", symbol * count]))[0]

    assert calls(2000) < 2.5 * calls(1000)
