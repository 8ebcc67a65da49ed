"""Written forms in front of the front end: each is read as its words, and nothing else is touched."""

from __future__ import annotations

import re
import unicodedata
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from linked_text import linked

from kokoro_tvm.errors import InputError
from kokoro_tvm.runtime.frontend.data import FrontEndFile
from kokoro_tvm.runtime.frontend.english import English
from kokoro_tvm.runtime.frontend.front_end import FrontEnd
from kokoro_tvm.runtime.frontend.normalization import normalize
from kokoro_tvm.runtime.frontend.paragraphs import paragraphs
from kokoro_tvm.runtime.frontend.source import SourceText
from kokoro_tvm.runtime.frontend.unknown import UnknownWords
from kokoro_tvm.runtime.sentences import words_of
from kokoro_tvm.runtime.text import read_utterances
from kokoro_tvm.truth.phonemes import misaki_english, sentences
from kokoro_tvm.truth.written_forms import WrittenForm, written_forms

# Pieces of written forms, so that examples are near what is looked for.
PIECES = """
1 5 10 2024 -  – / : . , ' " ° % $ € £ ¥ # @ & + = < > ~ ^ * ** _ ` ~~ [ ]( ) ![ | \\ &amp; &#8217; <b> </b>
km h km/h °C kg ft 10:30 pm am 2024-03-15 3/4 ½ ² − × → St. Dr. Main Henry VIII II I Chapter p. e.g. Inc.
a.b@c.de www.x.com https://x.com/a? #Tag @name 😀 👍🏽 \u200d 🇫🇷 March Mar. 15 M bn the x
[a](/ɐ/) [1](-1) +1 (555) 010 9999
"""
written = st.lists(st.sampled_from([*PIECES.split(), " ", " ", " "]), max_size=14).map("".join)
anything = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
# What every written form has in it, one or the other.
MARKED = re.compile(
    r"[\d*`~_#@<>=&^|\\°→×÷±≤≥≈≠∞√−²³½¼¾€¥₹©®™§π]|//|www\.|\.(?:com|org|net)\b|\b[IVX]{2,}\b|[A-Z][a-z]+ I\b"
    r"|\b(?:e\.g|i\.e|Prof|Gen|Col|Capt|Lt|Sen|Rep|Gov|Rev|Hon|Mt|St|Ft|Inc|Jr|Sr|Corp|dept|approx|cf|incl)\."
)


EVERYTHING = "**5 km** at www.x.com, a.b@c.de, 555-0123, #Tag: x² = $3."


def normal(text: str, code: str = "a", unread: tuple[str, ...] = ()) -> str:
    return normalize(linked(text), code, unread).text


@pytest.fixture(scope="module")
def file(front_end_files: Path) -> FrontEndFile:
    return FrontEndFile.open(front_end_files / "front_end.safetensors")


def without_stress(phonemes: str) -> str:
    """A number in figures is stressed otherwise than one in words."""
    return re.sub("[ˈˌ]", "", phonemes)


def plain(file: FrontEndFile, british: bool, text: str) -> str:
    data = file.english(british)
    tokens = English(data, british, UnknownWords(data, british)).convert(SourceText.of(text))
    return "".join(token.phonemes + token.space for token in tokens).strip()


def test_every_written_form_is_read_as_its_words(file: FrontEndFile) -> None:
    front_end = FrontEnd(file)
    wrong = []
    for form in written_forms():
        read = front_end.read(linked(form.written), "b" if form.british else "a").utterances
        phonemes = " ".join(utterance.phonemes for utterance in read)
        wanted = plain(file, form.british, form.spoken)
        if without_stress(phonemes) != without_stress(wanted):
            wrong.append((form.written, phonemes, wanted))
    assert wrong == []
    assert len(written_forms()) >= 200


@pytest.mark.parametrize("british", [False, True])
def test_misaki_reads_them_as_the_table_says(
    file: FrontEndFile, front_end_files: Path, british: bool
) -> None:
    with misaki_english(front_end_files / "tagger.zip", british) as misaki:
        wrong = [
            (form.written, found)
            for form in written_forms()
            if form.british == british and (found := _misaki(misaki, file, form)) != form.misaki
        ]
    assert wrong == []


def _misaki(misaki, file: FrontEndFile, form: WrittenForm) -> str:  # type: ignore[no-untyped-def]
    """What misaki makes of a form; "" where it is what it makes of the words."""
    found = "".join(word.phonemes + word.space for word in misaki(form.written)).strip()
    wanted = plain(file, form.british, form.spoken)
    return "" if without_stress(found) == without_stress(wanted) else found


def test_nothing_but_written_forms_changes() -> None:
    changed = [sentence for sentence in sentences() if normal(sentence) != linked(sentence).text]
    assert [sentence for sentence in changed if not MARKED.search(sentence)] == []
    assert len(changed) == 347  # each of which was read; docs/text.md says so


@pytest.mark.parametrize(
    "text",
    [
        "I saw a man who had an I.D. and a CD mix.",
        "The VI editor, Part of it; in May I go.",
        "f**k and s**t, a_b_c, a * b * c",
        "Well -- he said - and left - quickly.",
        "It's 'quoted' and “so” on; (see below).",
        "B-52, COVID-19, 3-year-old, 1-2-3, 192.168.0.1, 9/11",
        "AT&T, R&D, and/or, he/she, 5,000, 1.5, 3rd",
        "Mr. and Mrs. Dr. Smith vs. etc. U.S. a.m. No. 5 $2.50 £3 €1,000 50%",
        "He was 5 in the morning. I am 7 years old. Since May 5 years went by. 3 m&m's",
        "Malcolm X met Vitamin C at Area A.",
    ],
)
def test_what_is_left_to_misaki(text: str) -> None:
    assert normal(text) == text


@given(text=st.one_of(written, anything), code=st.sampled_from("abej"))
@example(text="&#0; &#xD800; &#128;", code="a")
@example(text="٣٤ km ¾٣ 5²³ ௧௨:௩௪", code="a")
def test_any_text_keeps_its_places(text: str, code: str) -> None:
    source = linked(text)
    result = normalize(source, code)
    assert len(result.text) == len(result.starts) == len(result.ends)
    assert list(result.starts) == sorted(result.starts)
    assert list(result.ends) == sorted(result.ends)
    assert all(0 <= a <= b <= len(text) for a, b in zip(result.starts, result.ends, strict=True))
    kept = [source.text[link.start : link.end] for link in source.links]
    assert [result.text[link.start : link.end] for link in result.links] == kept
    unedited = [c for c, a, b in zip(result.text, result.starts, result.ends, strict=True) if b - a == 1]
    assert all(unicodedata.category(char) != "Cs" for char in unedited)


@given(text=st.text("abcdefghij ,;!?'\n", max_size=60))
def test_plain_words_are_left_alone(text: str) -> None:
    assert normal(text.replace("\n", " ")) == text.replace("\n", " ")


@pytest.mark.parametrize("form", written_forms(), ids=lambda form: form.written)
def test_what_is_normal_stays_so(form: WrittenForm) -> None:
    once = normal(form.written)
    assert normal(once) == once


@pytest.mark.parametrize(
    ("text", "read"),
    [("ſec. 5", "section 5"), ("Fıg. 5", "Figure 5"), ("FİG. 5", "Figure 5"), ("ıncl. it", "including it")],
)
def test_letters_that_a_pattern_takes_for_others(text: str, read: str) -> None:
    """Where upper and lower case are alike, they match s and i; the lists have these alone."""
    assert normal(text) == read


@pytest.mark.parametrize(
    ("kind", "written"),
    [
        ("units", {"5 km": "5 kilometers"}),
        ("web", {"www.x.com": "W W W dot X dot com"}),
        ("mail", {"a.b@c.de": "A dot B at C dot de"}),
        ("phones", {"555 to 0123": "five five five, oh one two three"}),
        ("signs", {"#Tag": "hashtag Tag", "x² =": "x squared equals"}),
    ],
)
def test_a_kind_of_forms_is_left_as_it_stands(kind: str, written: dict[str, str]) -> None:
    read = normal(EVERYTHING)
    for form, words in written.items():
        assert words in read, read
        read = read.replace(words, form)
    assert normal(EVERYTHING, unread=(kind,)) == read
    assert normal(EVERYTHING, "b", (kind,)) == read


def test_all_forms_can_be_left_but_not_markup() -> None:
    assert normal(EVERYTHING, unread=("all",)) == EVERYTHING.replace("*", "")
    assert normal("&pound;3 on 3/4/2024 at 5pm", unread=("all",)) == "£3 on 3/4/2024 at 5pm"


def test_a_front_end_leaves_forms_and_itself_does_not_change(file: FrontEndFile) -> None:
    front_end = FrontEnd(file)

    def phonemes(front_end: FrontEnd) -> str:
        return front_end.read(linked("It is 5 km."), "a").utterances[0].phonemes

    before = phonemes(front_end)
    assert "kəlˈɑməTəɹz" in before
    assert "kəlˈɑməTəɹz" not in phonemes(front_end.leaving(["units"]))
    assert phonemes(front_end) == before
    with pytest.raises(InputError, match="There is no kind 'unit' of written forms"):
        front_end.leaving(["unit"])


def test_other_languages_lose_their_markup_alone() -> None:
    text = "**Hola**, [mundo](https://x.y) &amp; 5 km #tag <b>3/4</b> a@b.com"
    assert normal(text, "e") == "Hola, mundo & 5 km #tag 3/4 a@b.com"
    (utterance,) = read_utterances(linked("**Hola**, [mundo](https://x.y)!"), "e", FrontEnd())
    assert [(t.text, t.start, t.end) for t in utterance.tokens] == [
        ("Hola", 2, 6), (",", 8, 9), ("mundo", 11, 16), ("!", 30, 31),
    ]  # fmt: skip


def test_a_form_is_one_word_of_the_speech(file: FrontEndFile) -> None:
    text = "It cost $5M on 2024-03-15 at 10-20 km/h, see https://a.com/bee."
    (utterance,) = FrontEnd(file).read(SourceText.of(text), "a").utterances
    words = [word.text for word in words_of(utterance, SourceText.of(text))]
    assert words == [
        *("It", "cost", "$5M", "on", "2024-03-15", "at", "10", "-", "20", " km/h", ",", "see"),
        *("https://a.com/bee", "."),
    ]  # fmt: skip


def test_links_are_not_rewritten(file: FrontEndFile) -> None:
    (utterance,) = FrontEnd(file).read(linked("[5 km](/fˈIv/) and 5 km"), "a").utterances
    assert [t.phonemes for t in utterance.tokens] == ["fˈIv", "ænd", "fˈIv", "kəlˈɑməTəɹz"]


def test_blocks_are_paragraphs_without_their_marks() -> None:
    text = """
# A title
Text that
reads on:
- one
  wrapped
* [x] two

3. three
4) four
> quoted
> on
```python
x
```
| a | b |
|---|---|
Title
=====
"""
    assert [part.text for part in paragraphs(SourceText.of(text))] == [
        *("A title", "Text that reads on:", "one wrapped", "two", "3: three", "4: four quoted on"),
        *("x", "a, b", "Title"),
    ]  # fmt: skip
    for part in paragraphs(SourceText.of(text)):
        assert list(part.starts) == sorted(part.starts)


def test_marks_of_a_block_need_their_space() -> None:
    assert [part.text for part in paragraphs(SourceText.of("-5 is cold\n#tag me\n2024. So\n**bold**"))] == [
        "-5 is cold #tag me 2024. So **bold**"
    ]


@given(
    text=st.one_of(
        st.lists(st.sampled_from([*PIECES.split(), "\n", " ", "- ", "1. ", "> "]), max_size=20).map("".join)
    )
)
def test_paragraphs_keep_their_places(text: str) -> None:
    end = 0
    for part in paragraphs(SourceText.of(text)):
        assert end <= part.starts[0]
        assert list(part.starts) == sorted(part.starts)
        end = part.ends[-1]
        assert end <= len(text)


def test_emoji_alone_are_spoken(file: FrontEndFile) -> None:
    (utterance,) = read_utterances(SourceText.of("👍🏽!"), "a", FrontEnd(file))
    assert [(t.text, t.start, t.end) for t in utterance.tokens] == [
        ("thumbs", 0, 2),
        ("up", 0, 2),
        ("!", 2, 3),
    ]


@pytest.mark.parametrize(
    "unit",
    [
        *("1,", "a@", "*", "&#", "[", "**a", "1-", "1/", "1.", "1:", "$1", "#a", "a.", "http://", "[a]("),
        *("<a ", "`", "X", "1 1/", "(555) ", "+1-", "😀\u200d", "\u200d", "A St. ", "x²", "5' ", '5" ', "!["),
        *("&amp", "_a", "a_", "\\", "a%20", "–", "5 - ", "[a][", "a-b.", "10:30-", "Henry ", "< ", "1", " "),
        *("[a](/ˈb/) 5 km ", "a" + " " * 99),
    ],
)  # fmt: skip
def test_large_texts(unit: str) -> None:
    """Quadratic time would be minutes each."""
    text = unit * (100_000 // len(unit))
    for part in paragraphs(linked(text)):
        normalize(part, "a")


@pytest.mark.parametrize("block", [range(0x2C00), range(0x1F000, 0x1FB00)], ids=["symbols", "pictures"])
def test_characters_without_a_name_are_no_surprise(block: range) -> None:
    for place in block:
        normal(f"{chr(place)} {chr(place)}5 a")
