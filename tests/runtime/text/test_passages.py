"""Sentence splitting of texts that arrive in portions."""

from __future__ import annotations

import itertools
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kokoro_tvm.runtime.text.passages import Passage, split_passages

# Texts of what decides: marks, quotes, space of all kinds, capitals and abbreviations.
TEXTS = st.lists(
    st.sampled_from(
        [
            *'a31.!?…。।」とは「» , \n"“”()*é😀\t#-|>`',
            "Word",
            "Dr",
            "J",
            "\n\n",
            "\r\n",
            ". ",
            "\n- ",
            "\n2. ",
            "\n1) ",
            "\n# ",
        ]
    ),
    max_size=60,
).map("".join)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One two. Three!", ["One two.", "Three!"]),
        ("Dr. Smith met J. Doe. He left.", ["Dr. Smith met J. Doe.", "He left."]),
        ("It is 3.5 m. Or e.g. four.", ["It is 3.5 m.", "Or e.g. four."]),
        ("“Why?” she said. “So.” He left.", ["“Why?” she said.", "“So.”", "He left."]),
        ("Wrapped\nlines. Read\non.", ["Wrapped\nlines.", "Read\non."]),
        ("Title\n\nText.", ["Title", "Text."]),
        ("你好。再见！", ["你好。", "再见！"]),
        (
            "「駅は？」と彼は言った。「はい。」「ええ！」",
            ["「駅は？」と彼は言った。", "「はい。」", "「ええ！」"],
        ),
        ("すごい!本当?はい。", ["すごい!", "本当?", "はい。"]),
        ("他说：“去吧。”她哭了……没有人。", ["他说：“去吧。”", "她哭了……没有人。"]),
        ("यह किताब है। वह क़लम है॥ ठीक", ["यह किताब है।", "वह क़लम है॥", "ठीक"]),
        ("¿Qué? ¡No! «Sí.» Bueno.", ["¿Qué?", "¡No!", "«Sí.»", "Bueno."]),
        (
            "Ça va ? Oui ! « Bon. » Il part ; elle reste.",
            ["Ça va ?", "Oui !", "« Bon. »", "Il part ; elle reste."],
        ),
        ("Wait... what? Yes.", ["Wait... what?", "Yes."]),
        ("It was I. You knew.", ["It was I.", "You knew."]),
        ("# A title\nText\nreads on", ["# A title", "Text\nreads on"]),
        ("# Why? So\nText", ["# Why?", "So", "Text"]),
        ("Buy:\n- eggs\n  - milk\n\t* tea", ["Buy:", "- eggs", "- milk", "* tea"]),
        ("1. One. More\n2. Two\n10) Ten", ["1. One.", "More", "2. Two", "10) Ten"]),
        ("She was\n12. He wept", ["She was\n12.", "He wept"]),
        ("| a | b |\n|---|---|\n| c |\nText", ["| a | b |", "|---|---|", "| c |", "Text"]),
        ("Title\n=====\nText\n***\nMore", ["Title", "=====", "Text", "***", "More"]),
        ("A\n-5 and\n#tag and\n**bold** b", ["A\n-5 and\n#tag and\n**bold** b"]),
    ],
)
def test_split_passages_finds_sentences(text: str, expected: list[str]) -> None:
    assert [passage.text for passage in split_passages([text])] == expected


def test_split_passages_returns_places_and_boundaries() -> None:
    found = list(split_passages(["  One. Two.\n \nThree\n"]))
    assert found == [
        Passage("One.", 2, "sentence"),
        Passage("Two.", 7, "paragraph"),
        Passage("Three", 14, "end"),
    ]


@given(TEXTS, st.lists(st.integers(1, 5), min_size=1, max_size=20))
def test_split_passages_does_not_depend_on_portions(text: str, sizes: list[int]) -> None:
    places = [*itertools.accumulate(sizes), len(text)]
    portions = [text[a:b] for a, b in itertools.pairwise(sorted({0, *(min(p, len(text)) for p in places)}))]
    assert list(split_passages(portions)) == list(split_passages([text]))


@given(TEXTS)
def test_split_passages_loses_nothing(text: str) -> None:
    found = list(split_passages([text]))
    assert "".join("".join(p.text for p in found).split()) == "".join(text.split())
    assert all(text[p.start : p.start + len(p.text)] == p.text == p.text.strip() != "" for p in found)
    assert all(p.boundary != "end" for p in found[:-1])


def test_split_passages_yields_complete_sentences_at_once() -> None:
    read = []

    def portions():  # type: ignore[no-untyped-def]
        for word in ("One", "two.", "Three", "four.", "Five"):
            read.append(word)
            yield word + " "

    assert next(iter(split_passages(portions()))).text == "One two."
    assert read == ["One", "two.", "Three"]


@pytest.mark.parametrize("unit", ["word ", "a", "! ", "!", "*", ". ", ".*", '"', "\n", "Hi. ", "、"])
def test_split_passages_is_linear_in_bounded_memory(unit: str) -> None:
    """A growing buffer would become as large as the text."""
    portions = (unit * (4096 // len(unit)) for _ in range(40))
    tracemalloc.start()
    total = sum(len(passage.text) for passage in split_passages(portions))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert total > 0 or not unit.strip()
    assert peak < 100_000
