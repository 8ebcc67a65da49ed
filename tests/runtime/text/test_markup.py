"""Markup in brackets: items, plans, and errors with their place."""

from __future__ import annotations

import itertools
import re
import warnings
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from letters import read_letters
from toy_bundle import VOCABULARY, FakeRunner

from kokoro_tvm.common.errors import InputError
from kokoro_tvm.runtime import Division, Plan, SpeechWarning, Synthesizer
from kokoro_tvm.runtime.text.frontend.source import SourceText
from kokoro_tvm.runtime.text.markup import MarkupVocabulary, parse_markup
from kokoro_tvm.runtime.text.markup.passages import StyledPassage, split_sections, split_styled_passages

RATE = 24_000


def language(voice: str | None) -> str:
    if voice not in (None, "af_heart", "bf_emma"):
        raise InputError(f"There is no voice {voice!r}.")
    return (voice or "a")[0]


KNOWN = MarkupVocabulary(VOCABULARY, language)


def passages(text: str | Iterable[str], ssml: bool | None = None) -> list[StyledPassage]:
    return list(split_styled_passages(parse_markup(text, KNOWN, ssml)))


def plain(text: str) -> str:
    return "".join(section.source.text for section in split_sections(parse_markup(text, KNOWN)))


@pytest.fixture
def tts(roomy: tuple[Synthesizer, FakeRunner], monkeypatch: pytest.MonkeyPatch) -> Synthesizer:
    monkeypatch.setattr("kokoro_tvm.runtime.speech.sentences.phonemize_sentence", read_letters)
    return roomy[0]


@pytest.fixture(scope="module", autouse=True)
def letters() -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("kokoro_tvm.runtime.speech.sentences.phonemize_sentence", read_letters)
        yield


@pytest.mark.parametrize(
    "text",
    [
        "see [1] and [2], [a](b c",
        "[pause] [paused:1s] [ ] [] [[x]] ]( [voice]",
        "array[0](1) [TODO: this",
        "a [line\n\nbroken](/a/) b",
    ],
)
def test_parse_brackets_keeps_other_brackets(text: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert plain(text) == text.replace("[0](1)", "0")


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("a\n [pause:1s b", "In line 2, column 2, '[pause:' has no closing bracket; it is read as text"),
        ("[a](/b c", "In line 1, column 1, '[a](/' has no closing round bracket; it is read as text"),
    ],
)
def test_parse_brackets_notes_unclosed_brackets(text: str, note: str) -> None:
    with pytest.warns(SpeechWarning, match=re.escape(note)):
        assert plain(text) == text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "a\nb [pause:]",
            "line 2, column 3: '' is no length of a pause. Write [pause:0.5s] or [pause:500ms].",
        ),
        ("[pause:5]", "line 1, column 1: '5' is no length of a pause."),
        ("[pause:-1s]", "'-1s' is no length of a pause."),
        ("[pause:3601s]", "A pause of '3601s' is too long; 3600 s is the longest."),
        ("[pause:3000s] [pause:3000s]", "Pauses that follow each other last 6000 s; 3600 s is the longest."),
        ("ok [voice:xy]", "line 1, column 4: There is no voice 'xy'."),
        ("[rate:quick]", "'quick' is no speed. Write a factor or a percentage, 1.2 or 120%."),
        (f"[rate:{'9' * 50}]", f"'{'9' * 40}…' is no speed"),
        ("[rate:20]", "'20' is no speed: the factor should lie within 0.1 and 10.0."),
        ("a [b](/ˈa☃/)", "line 1, column 3: The model does not know these phonemes of 'ˈa☃': '☃' (U+2603)."),
    ],
)
def test_parse_brackets_errors_have_line_and_column(text: str, message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        plain(text)


@pytest.mark.parametrize(
    ("between", "phonemes"),
    [
        *(("/about/", None), ("/docs/get-started/", None), ("/blog", None), ("/us/", None), ("/p/", None)),
        *(("/über/", None), ("/a/b/", None), ("/menu/", None), ("/a☃/", None), ("//b.example/", None)),
        *(("/mi/", "mi"), ("/hˈO/", "hˈO"), ("/ʃ/", "ʃ"), ("/mIn/", "mIn"), ("/ˈdocs/", "ˈdocs"), ("//", "")),
        ("/nu  jɔɹk/", "nu jɔɹk"),
    ],
)
def test_parse_brackets_tells_paths_from_phonemes(between: str, phonemes: str | None) -> None:
    """In English: a word of the text, or letters that are no English phonemes, are a path."""
    known = MarkupVocabulary(frozenset("ˈaɔbcdefhijklmnopqrstuvwxyzʃɹIO"), language)
    (section,) = split_sections(parse_markup(f"See [Tell us]({between}).", known))
    assert section.source.text == "See Tell us."
    assert [link.phonemes for link in section.source.links] == ([] if phonemes is None else [phonemes])


def test_parse_brackets_accepts_letters_of_other_languages() -> None:
    known = MarkupVocabulary(frozenset("hola"), lambda voice: "e")
    (section,) = split_sections(parse_markup("[Buenas](/ola/) [hola](/hola/)", known))
    assert [link.phonemes for link in section.source.links] == ["ola"]


@pytest.mark.parametrize(
    "text", ["[pause: dramatic] [a](/ˈa/) [voice:x]", "<speak>a</speak", "[a](/☃/) [rate:"]
)
def test_parse_markup_can_be_switched_off(text: str) -> None:
    for portions in (text, list(text)):
        (section,) = split_sections(parse_markup(portions, KNOWN, markup=False))
        assert (section.source, section.pause) == (SourceText.of(text), None)
    with pytest.raises(InputError, match="SSML has markup"):
        list(parse_markup(text, KNOWN, ssml=True, markup=False))


def test_split_styled_passages_keeps_links_whole() -> None:
    found = passages("[Dr. Who. X](/abˈc/) came.[pause:1.5s] He left [a. B](/ab/). Yes.")
    assert [p.source.text for p in found] == ["Dr. Who. X came.", "He left a. B.", "Yes."]
    assert [p.pause for p in found] == [1.5, None, None]
    (link,) = found[1].source.links
    assert found[1].source.span(link.start, link.end) == (48, 52)


def test_split_sections_adds_pauses() -> None:
    found = passages("[pause:1s]\n[pause:500ms] Hi. [pause: .5 s] [pause:0.25s]")
    assert [(p.source.text, p.pause, p.boundary) for p in found] == [
        ("", 1.5, "clause"),
        ("Hi.", 0.75, "end"),
    ]


# Texts of markup, well formed or not, between words and marks.
PARTS = """word |Dr. |He. |a|Go!|\n\n| |[|]|(|)|[pause:|[pause:0.5s]|[pause:1s]|[voice:bf_emma]|[voice:]|
[rate:2]|[rate:]|[b. C. d](/abˈc d/)|[a](-1)|[b  c\n d](/ab/)|[5](#a#)|[x](y)|](/|😀|[voice:no]|[pause:x]|
[a](/☃/)"""
MARKUP = st.lists(st.sampled_from(PARTS.split("|")), max_size=30).map("".join)


def portions_of(text: str, sizes: list[int]) -> list[str]:
    places = sorted({0, len(text), *(min(p, len(text)) for p in itertools.accumulate(sizes))})
    return [text[a:b] for a, b in itertools.pairwise(places)]


def outcome(text: str | Iterable[str], ssml: bool | None = None) -> tuple[list[StyledPassage], str]:
    found: list[StyledPassage] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found.extend(split_styled_passages(parse_markup(text, KNOWN, ssml)))
        except InputError as error:
            return [], str(error)
    return found, ""


def test_split_sections_keeps_styles_of_long_texts() -> None:
    text = "[rate:2]fast [1] word [rate:]slow [2] " * 100
    (section,) = split_sections(parse_markup(text, KNOWN))
    rates = [style.rate for style in section.styles]
    assert rates == [1.0 if place % 23 >= 14 else 2.0 for place in range(len(rates))]


@given(MARKUP, st.lists(st.integers(1, 7), min_size=1, max_size=40))
def test_split_styled_passages_does_not_depend_on_portions(text: str, sizes: list[int]) -> None:
    assert outcome(portions_of(text, sizes)) == outcome(text)


@given(MARKUP)
def test_split_styled_passages_keeps_places(text: str) -> None:
    found, error = outcome(text)
    assert error or "".join(text.split()) == "" or found or plain(text).strip() == ""
    done = 0
    for passage in found:
        source = passage.source
        assert len(source.starts) == len(source.ends) == len(passage.styles) == len(source.text)
        for char, start, end in zip(source.text, source.starts, source.ends, strict=True):
            assert done <= start <= end <= len(text)
            assert text[start:end] == char or (char == " " and text[start:end].isspace())
            done = end
        assert all(0 <= link.start < link.end <= len(source.text) for link in source.links)
        assert len({style.voice for style in passage.styles}) <= 1


@given(MARKUP)
def test_parse_brackets_keeps_other_text(text: str) -> None:
    found, error = outcome(text)
    markup = r"\[(?:pause|voice|rate):[^\]\[]*\]|\[([^\]\[]+)\]\([^)]*\)"
    left = re.sub(markup, lambda m: m[1] or "", text)
    if not error and not re.search(r"\[[^\]]*\n\s*\n", text) and not re.search(r"\[\s*\]", text):
        assert "".join("".join(p.source.text for p in found).split()) == "".join(left.split())


@given(MARKUP, st.sampled_from([0.7, 1.0, 2.0]))
def test_plan_of_markup(fake_synthesizer: Synthesizer, text: str, speed: float) -> None:
    """Only InputError is raised, places are in order, samples are exact, JSON round-trips."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            plan = fake_synthesizer.plan(text, speed=speed)
        except InputError:
            return
        assert fake_synthesizer.render(plan).audio.size == plan.samples
        assert np.array_equal(fake_synthesizer.render(plan).audio, fake_synthesizer(text, speed=speed).audio)
    assert Plan.from_json(plan.to_json()) == plan
    places = [place for word in plan.words for place in (word.start, word.end)]
    assert places == sorted(places) and all(0 <= place <= len(text) for place in places)


def test_plan_pause_is_exact(tts: Synthesizer) -> None:
    first, second = "A big bad dog did it.", "He ran home and back."
    plan = tts.plan(f"{first} [pause:1.25s] {second}")
    kept = plan.pieces[0].keep[1], plan.pieces[1].keep[0]
    assert kept[0] + plan.pieces[0].pause + kept[1] == round(1.25 * RATE)  # type: ignore[operator]
    assert len(plan.pieces) == 2
    plan = tts.plan(f"[pause:1.25s] {first} [pause:2s]")
    silence, speech = plan.pieces
    assert silence.words == () and silence.pause + speech.keep[0] == 30_000  # type: ignore[operator]
    assert speech.pause + speech.keep[1] == 48_000  # type: ignore[operator]
    assert tts.render(plan).audio.size == plan.samples
    assert not tts.render(plan).audio[: silence.pause].any()


@pytest.mark.parametrize("text", ["[pause:1s]", " [pause:1s]\n\n[pause:2s] "])
def test_plan_refuses_pauses_alone(tts: Synthesizer, text: str) -> None:
    with pytest.raises(InputError, match="nothing to speak: the text has pauses alone"):
        tts.plan(text)


def test_plan_rate_of_two_halves_durations(tts: Synthesizer) -> None:
    slow, fast = tts.plan("he ran home and back."), tts.plan("he [rate:2]ran home[rate:] and back.")
    for before, after in zip(slow.words, fast.words, strict=True):
        quick = after.text in ("ran", "home")
        assert after.rate == (2.0 if quick else 1.0)
        share = 2 if quick else 1
        assert after.durations == tuple(max(1, round(d / share)) for d in before.durations or ())


def test_plan_rate_of_all_words_is_the_speed(tts: Synthesizer) -> None:
    text = "He ran home and back. A big bad dog did it."
    marked, whole = tts.plan(f"[rate:50%]{text}"), tts.plan(text, speed=0.5)
    assert [w.durations for w in marked.words] == [w.durations for w in whole.words]
    assert [p.pause for p in marked.pieces] == [p.pause for p in whole.pieces]


def test_plan_predicts_a_changed_word_at_its_rate(tts: Synthesizer) -> None:
    plan = tts.plan("[rate:2]he ran home.")
    again = tts.complete(plan.with_phonemes(0, 1, plan.pieces[0].words[1].phonemes))
    assert again == plan


def test_plan_divides_at_voices(tts: Synthesizer) -> None:
    text = "He ran home, [voice:bf_emma] no. [voice:] and on and on."
    plan = tts.plan(text)
    assert [(piece.voice, piece.symbols) for piece in plan.pieces] == [
        (None, "he aan home,"),
        ("bf_emma", "b."),
        (None, "and on and on."),
    ]
    alone = tts.plan_phonemes("b.", voice="bf_emma")
    assert plan.pieces[1].durations == alone.pieces[0].durations
    other = tts.render(plan, [1]).audio
    same = tts.render(plan.with_piece(1, replace(plan.pieces[1], voice=None)), [1]).audio
    assert other.size == same.size and not np.array_equal(other, same)
    assert tts.render(plan).audio.size == plan.samples
    mixed = tts.plan("[voice:af_heart,am_adam] He ran.")
    assert mixed.pieces[0].voice == "af_heart,am_adam"


def test_plan_refuses_an_unknown_voice(tts: Synthesizer) -> None:
    plan = tts.plan("He ran home.")
    with pytest.raises(InputError, match="no voice 'nobody'"):
        tts.render(plan.with_piece(0, replace(plan.pieces[0], voice="nobody")))


def test_plan_file_without_voices_and_rates_is_read(tts: Synthesizer) -> None:
    plan = tts.plan("He ran home.")
    text = re.sub(r',\s*"(rate|voice)": (1\.0|null)', "", plan.to_json())
    assert text.count('"voice"') == 1 and '"rate"' not in text
    assert Plan.from_json(text) == plan


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"rate": 1.0', '"rate": 0', "rate of the word 'He' should be a factor from 0.1 to 10.0, but is 0"),
        ('"rate": 1.0', '"rate": null', "'rate' of pieces[0].words[0] should be a number"),
        ('"voice": null', '"voice": 3', "'voice' of pieces[0] should be a string"),
        ('"voice": null', '"voice": ""', "voice of a piece should be a name"),
        ('"voice": "af_heart"', '"voice": null', "'voice' of the plan should be a string"),
    ],
)
def test_plan_file_with_invalid_values_is_refused(tts: Synthesizer, old: str, new: str, message: str) -> None:
    text = tts.plan("He ran home.").to_json()
    assert old in text
    with pytest.raises(InputError, match=re.escape(message)):
        Plan.from_json(text.replace(old, new, 1))


def test_first_sentence_does_not_wait(tts: Synthesizer) -> None:
    read: list[str] = []

    def portions() -> Any:
        for word in (
            "[rate:2]",
            "He",
            "ran",
            "[home](/ab/).",
            "A",
            "big",
            "bad",
            "dog.",
            "[pause:1s]",
            "No.",
        ):
            read.append(word)
            yield word + " "

    first = next(tts.stream(portions(), division=Division(least=5)))
    assert first.piece.symbols == "he aan ab."
    assert read[-1] == "A"
