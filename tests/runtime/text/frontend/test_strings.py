"""Words of a text and the string of phonemes that was made of the whole of it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest

from kokoro_tvm.runtime.text.frontend.strings import aligned


def calls_of(function: Callable[[], Any]) -> int:
    """Calls of Python and of C, which do not depend on how fast the machine is."""
    calls = 0

    def count(frame: Any, event: str, argument: Any) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        function()
    finally:
        sys.setprofile(None)
    return calls


def spoken(text: str, phonemes: str, alone: list[str]) -> list[tuple[str, str]]:
    return [(token.text, token.phonemes) for token in aligned(text, phonemes, lambda words: alone)]


def test_words_spoken_as_one_are_cut_where_they_sound_alike() -> None:
    found = spoken("made of the stone", "mˈAd ʌvðə stˈOn", ["mˈAd", "ʌv", "ðə", "stˈOn"])
    assert found == [("made", "mˈAd"), ("of", "ʌv"), ("the", "ðə"), ("stone", "stˈOn")]


def test_so_are_those_of_a_text_of_any_length() -> None:
    words, sounds = ["one", "of", "them", "and"], ["wˈʌn", "ʌv", "ðˈɛm", "ænd"]
    found = spoken(" ".join(words * 300), "wˈʌn ʌvðˈɛm ænd " * 300, sounds * 300)
    assert found == list(zip(words, sounds, strict=True)) * 300


@pytest.mark.parametrize("symbol", ["x", "xy"])
def test_the_time_for_one_symbol_again_and_again_grows_with_its_length(symbol: str) -> None:
    def calls(count: int) -> int:
        return calls_of(lambda: spoken("a b", symbol * count, ["b", symbol * count]))

    assert calls(2000) < 2.5 * calls(1000)
