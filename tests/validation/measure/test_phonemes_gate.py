"""The gate of the phonemes: what it counts, and that it notices one wrong symbol."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rapidfuzz.distance import Levenshtein

from kokoro_tvm.common.errors import ValidationError
from kokoro_tvm.runtime.text.frontend.tokens import Token
from kokoro_tvm.validation.measure.phonemes import (
    INTENDED,
    IntendedDifference,
    SentenceReading,
    edit_distance,
    judge_phonemes,
)
from kokoro_tvm.validation.reference.phonemes import ReferenceWord, sentences

LIMITS: dict[str, float | None] = {"max_known_word_errors": 0, "max_phoneme_error_rate": 0.002}
strings = st.text("ˈæbk ", max_size=12)


@given(one=strings, other=strings)
def test_edit_distance_is_levenshtein(one: str, other: str) -> None:
    assert edit_distance(one, other) == Levenshtein.distance(one, other)


def sentence(count: int = 1000) -> SentenceReading:
    """ "cat xyzzy." repeated: a word of the lexicon, one of espeak-ng, a mark."""
    reference = [
        ReferenceWord("cat", "kˈæt", " ", False),
        ReferenceWord("xyzzy", "zˈɪzi", "", True),
        ReferenceWord(".", ".", " ", False),
    ]
    origins = ("lexicon", "espeak", "mark")
    ours = [
        Token(word.text, 0, 1, word.phonemes, word.space, origin=origin)
        for word, origin in zip(reference, origins, strict=True)
    ]
    return SentenceReading("cat xyzzy. ", reference * count, ours * count)


def spoiled(place: int, **changes: str) -> SentenceReading:
    whole = sentence()
    ours = list(whole.ours)
    ours[place] = replace(ours[place], **changes)
    return replace(whole, ours=ours)


def test_equal_phonemes_pass() -> None:
    report = judge_phonemes({"English": [sentence()]}, LIMITS)
    report.require()
    measured = report.to_json()["utterances"][0]["outputs"]["phonemes"]
    assert (measured["words"], measured["unknown_words"], measured["phoneme_error_rate"]) == (3000, 1000, 0.0)


@pytest.mark.parametrize(
    ("place", "changes"),
    [
        (0, {"phonemes": "kˈæd"}),
        (0, {"phonemes": "kæt"}),
        (0, {"space": ""}),
        (2, {"phonemes": "!"}),
        (3, {"text": "cats"}),
    ],
)
def test_one_wrong_word_fails(place: int, changes: dict[str, str]) -> None:
    report = judge_phonemes({"English": [spoiled(place, **changes)]}, LIMITS)
    with pytest.raises(ValidationError, match=r"known_word_errors \d, max_known_word_errors 0"):
        report.require()
    assert all(difference.known for difference in report.differences["English"])


def test_unknown_word_counts_in_the_rate_only() -> None:
    report = judge_phonemes({"English": [spoiled(1, phonemes="ˈɛks")]}, LIMITS)
    report.require()
    (difference,) = report.to_json()["differences"]["English"]
    assert (difference["word"], difference["known"]) == ("xyzzy", False)


@pytest.mark.parametrize(("place", "errors"), [(0, 1), (1, 0)])
def test_word_of_the_names_may_differ_if_misaki_guesses_it(place: int, errors: int) -> None:
    report = judge_phonemes({"English": [spoiled(place, phonemes="ˈɛks", origin="names")]}, {})
    assert len(report.differences["English"]) == errors


def test_too_many_wrong_symbols_fail() -> None:
    whole = sentence(9)
    ours = [replace(token, phonemes="") if token.origin == "espeak" else token for token in whole.ours]
    with pytest.raises(ValidationError, match="max_phoneme_error_rate"):
        judge_phonemes({"English": [replace(whole, ours=ours)]}, LIMITS).require()


@pytest.mark.parametrize("better", INTENDED, ids=lambda better: better.example)
def test_intended_difference_has_a_reason_and_a_source(better: IntendedDifference) -> None:
    assert better.reason.endswith(".")
    assert better.source
    assert better.reference != better.ours


@pytest.mark.parametrize("better", [b for b in INTENDED if b.pattern], ids=lambda better: better.example)
def test_sentences_with_intended_differences_are_skipped(better: IntendedDifference) -> None:
    wrong = replace(spoiled(0, phonemes="x"), sentence=f"It is {better.example}.")
    report = judge_phonemes({"English": [sentence(), wrong]}, LIMITS)
    report.require()
    assert report.to_json()["utterances"][0]["outputs"]["phonemes"]["passed_over"] == 1


@pytest.mark.parametrize(
    ("word", "reference", "ours", "british", "errors"),
    [
        ("read", "ɹˈid", "ɹˈɛd", False, 0),
        ("Read", "ɹˈiːd", "ɹˈɛd", True, 0),
        ("live-action", "lˌɪvˈækʃən", "lˌIvˈækʃən", False, 0),
        ("read", "ɹˈid", "ɹˈiːd", False, 1),  # the other English's
        ("read", "ɹˈid", "ɹɛd", False, 1),
        ("live-action", "lˌɪvˈækʃən", "lˌIvˈækʃɪn", False, 1),
        ("red", "ɹˈɛd", "ɹˈid", False, 1),
    ],
)
def test_homograph_may_have_either_reading(
    word: str, reference: str, ours: str, british: bool, errors: int
) -> None:
    read = SentenceReading(
        f"{word} it",
        [ReferenceWord(word, reference, " ", False), ReferenceWord("it", "ɪt", "", False)],
        [Token(word, 0, 1, ours, " ", origin="lexicon"), Token("it", 1, 2, "ɪt", "", origin="lexicon")],
        british,
    )
    measured = judge_phonemes({"English": [read]}, {}).to_json()["utterances"][0]["outputs"]["phonemes"]
    assert (measured["known_word_errors"], measured["other_readings"]) == (errors, 1 - errors)


def test_there_are_two_thousand_sentences_of_every_kind() -> None:
    texts = sentences()
    assert len(texts) >= 2000
    assert len(set(texts)) == len(texts)
    for kind in ("$", "£", "€", "%", "1st", "U.S.", "?", "“", "record", "vs."):
        assert sum(kind in text for text in texts) > 3, kind
