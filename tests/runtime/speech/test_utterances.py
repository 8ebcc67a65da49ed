"""Words and marks of a text, from tokens of phonemes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kokoro_tvm.common.errors import InputError
from kokoro_tvm.runtime.notices import SpeechWarning
from kokoro_tvm.runtime.text.frontend.front_end import FrontEnd
from kokoro_tvm.runtime.text.frontend.source import SourceText
from kokoro_tvm.runtime.text.frontend.strings import align_words, tokenize_phonemes
from kokoro_tvm.runtime.text.frontend.tokens import Token
from kokoro_tvm.runtime.text.reading import phonemize_sentence


def never(words: list[str]) -> list[str]:
    raise AssertionError(words)


def test_words_match_the_text() -> None:
    text = "“Hi,  you!” he said."
    tokens = list(align_words(text, "“hˈI, jˈu!” hi sˈɛd.", never))
    assert [(t.text, t.phonemes, t.space) for t in tokens] == [
        ("“", "“", ""),
        ("Hi", "hˈI", ""),
        (",", ",", " "),
        ("you", "jˈu", ""),
        ("!”", "!”", " "),
        ("he", "hi", " "),
        ("said", "sˈɛd", ""),
        (".", ".", ""),
    ]
    assert all(text[t.start : t.end] == t.text for t in tokens)


def test_words_of_merges_and_divides_tokens() -> None:
    sounds = {"Out": "ˈaʊt", "of": "ʌv", "a": "ɐ", "10": "tˈɛn", "box.": "bˈɑːks."}
    tokens = list(align_words("Out of a box.", "ˈaʊɾəvə bˈɑːks.", lambda words: [sounds[w] for w in words]))
    assert [t.text for t in tokens] == ["Out", "of", "a", "box", "."]
    assert "".join(t.phonemes + t.space for t in tokens) == "ˈaʊɾəvə bˈɑːks."
    assert (tokens[3].phonemes, tokens[2].space) == ("bˈɑːks", " ")


def test_vowel_signs_belong_to_words() -> None:
    tokens = list(align_words("नमस्ते, मेरी गाड़ी!", "nəmˈʌsteː, mˌeːri ɡˈaːɽi!", never))
    assert [(t.text, t.origin) for t in tokens if t.origin == "word"] == [
        ("नमस्ते", "word"),
        ("मेरी", "word"),
        ("गाड़ी", "word"),
    ]


WORDS = st.lists(st.text(alphabet="abc,.!", min_size=1, max_size=6), min_size=1, max_size=8)


@given(WORDS, WORDS, st.data())
def test_words_cover_the_text(words: list[str], chunks: list[str], data: Any) -> None:
    sounds = [data.draw(st.text(alphabet="abc", max_size=5)) for _ in words]
    text, phonemes = " ".join(words), " ".join(chunks)
    tokens = list(align_words(text, phonemes, lambda asked: sounds))
    assert "".join(t.phonemes + t.space for t in tokens) == phonemes
    assert "".join(t.text for t in tokens) == "".join(words)
    assert [t.start for t in tokens] == sorted(t.start for t in tokens)


@pytest.mark.parametrize("code", list("abefhip"))
def test_words_of_real_languages(code: str) -> None:
    text = "Ola,  2 x — a la de. O"
    (utterance,) = phonemize_sentence(SourceText.of(text), code, FrontEnd())
    assert all(text[t.start : t.end] == t.text for t in utterance.tokens)
    assert "".join(t.text for t in utterance.tokens) == text.replace(" ", "")


def test_text_without_letters_has_no_words() -> None:
    assert phonemize_sentence(SourceText.of("***"), "a", FrontEnd()) == []
    with pytest.warns(SpeechWarning, match=r"Left out.*u2318"):
        assert phonemize_sentence(SourceText.of("⌘ !"), "a", FrontEnd()) == []
    with pytest.raises(InputError, match="NUL"):
        phonemize_sentence(SourceText.of("\0"), "a", FrontEnd())


def test_long_word_is_divided() -> None:
    with pytest.warns(SpeechWarning, match="Divided, because it is too long for a word: ab"):
        (utterance,) = phonemize_sentence(SourceText.of("ab" * 250), "e", FrontEnd())
    assert len(utterance.tokens) == 21


def test_tokens_of_splits_phonemes() -> None:
    assert [(t.phonemes, t.space, t.start, t.end) for t in tokenize_phonemes(" aˈb, c!  ")] == [
        ("", " ", 0, 0),
        ("aˈb", "", 1, 4),
        (",", " ", 4, 5),
        ("c", "", 6, 7),
        ("!", "  ", 7, 8),
    ]
    assert isinstance(tokenize_phonemes("a")[0], Token)
