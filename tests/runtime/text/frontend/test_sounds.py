"""Letter-to-sound rules: words, clauses, places and foreign letters."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kokoro_tvm.model
from kokoro_tvm.model.front_end.sound_rules import compile_sounds, list_sound_languages
from kokoro_tvm.runtime.bundle.languages import SpokenLanguage
from kokoro_tvm.runtime.prosody import MARKS
from kokoro_tvm.runtime.text.frontend.languages import phonemize_sources
from kokoro_tvm.runtime.text.frontend.sounds import RulePass, SoundRules
from kokoro_tvm.runtime.text.frontend.source import Link, SourceText
from kokoro_tvm.runtime.text.frontend.tokens import Utterance

VOCABULARY = set(
    json.loads((Path(kokoro_tvm.model.__file__).parent / "kokoro-82m.json").read_text(encoding="utf-8"))[
        "vocab"
    ]
)
CASES = [line.split("\t") for line in Path(__file__).with_name("sounds.tsv").read_text("utf-8").splitlines()]


@cache
def rules(language: str) -> SoundRules:
    return SoundRules(compile_sounds(language))


def heard(text: str, language: str) -> str:
    return Utterance(tuple(rules(language)(text))).phonemes


@pytest.mark.parametrize(("language", "text", "phonemes"), CASES)
def test_sound_rules_read_words_and_clauses(language: str, text: str, phonemes: str) -> None:
    assert heard(text, language) == phonemes


@pytest.mark.parametrize("language", list_sound_languages())
@given(data=st.data())
def test_sound_rules_stay_in_the_vocabulary(language: str, data: st.DataObject) -> None:
    """No symbol of the rules remains in the phonemes of any string."""
    letters = compile_sounds(language)["letters"] + "çœßŁé"
    text = data.draw(st.text(st.sampled_from(letters + " " * 9 + ".,¿?«»(…")))
    own = [token for token in rules(language)(text) if token.origin != "latin"]
    assert {symbol for token in own for symbol in token.phonemes} <= VOCABULARY | MARKS | {" "}


@pytest.mark.parametrize("language", list_sound_languages())
@given(data=st.data())
def test_sound_rules_keep_places(language: str, data: st.DataObject) -> None:
    text = data.draw(st.text(st.sampled_from(compile_sounds(language)["letters"] + " ,.-'’")))
    tokens = rules(language)(text)
    assert all(text[token.start : token.end] == token.text for token in tokens)
    assert [token.start for token in tokens] == sorted(token.start for token in tokens)
    spoken = {place for token in tokens for place in range(token.start, token.end)}
    assert all(place in spoken for place, char in enumerate(text) if char.isalpha())


@pytest.mark.parametrize("language", list_sound_languages())
def test_sound_rules_speak_every_letter(language: str) -> None:
    silent = {"h", "ʼ", "़", "्", "'"}
    for letter in compile_sounds(language)["letters"]:
        if letter not in silent and letter.isalpha():
            assert heard(letter, language).strip("ˈˌ"), letter


@pytest.mark.parametrize("language", list_sound_languages())
def test_rule_pass_keeps_the_number_of_words(language: str) -> None:
    """Else words would lose their places."""
    data = compile_sounds(language)
    for each in data["clauses"]:
        for focus, replacement, _, _ in each["rules"]:
            edges = sum(chars == "#" for chars, *_ in focus)
            assert all("#" not in chars or chars == "#" for chars, *_ in focus)
            assert replacement.count("#") + replacement.count("&") * edges == edges


def test_sound_rules_leave_latin_words_of_hindi() -> None:
    tokens = rules("hi")("यह iPhone don't है")
    assert [(token.text, token.origin) for token in tokens[1:3]] == [("iPhone", "latin"), ("don't", "latin")]


def test_sound_rules_follow_links() -> None:
    source = SourceText.of("la casa de Ana", links=(Link(3, 7, "kˈata"),))
    (tokens,), notices = phonemize_sources([source], "e", SpokenLanguage("Spanish"), rules("es"))
    assert [(token.text, token.phonemes) for token in tokens] == [
        ("la", "lˈa"), ("casa", "kˈata"), ("de", "de"), ("Ana", "ˈana"),
    ]  # fmt: skip
    assert not notices


def test_rule_pass_feeds_its_left_context() -> None:
    rule = ([["a", True, 1, 1]], "b", [["a", True, 1, 1]], [])
    assert RulePass.of({"rules": [rule], "unless": "", "feeding": False})("aaa") == "abb"
    assert RulePass.of({"rules": [rule], "unless": "", "feeding": True})("aaa") == "aba"


def test_rule_pass_is_skipped_for_a_character() -> None:
    rule = ([["a", True, 1, 1]], "&&", [], [])
    assert RulePass.of({"rules": [rule], "unless": "x", "feeding": False})("ax") == "ax"
    assert RulePass.of({"rules": [rule], "unless": "y", "feeding": False})("ax") == "aax"


def test_pattern_item_is_greedy_up_to_its_bound() -> None:
    any_a = ["a", True, 0, 2]
    edge = ["#", True, 1, 1]
    rule = ([["b", True, 1, 1]], "c", [], [any_a, edge])
    one = RulePass.of({"rules": [rule], "unless": "", "feeding": False})
    assert [one(text) for text in ("b#", "baa#", "baaa#")] == ["c#", "caa#", "baaa#"]
