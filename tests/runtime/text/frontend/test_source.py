"""SourceText keeps the places of characters through edits."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from linked_text import linked

from kokoro_tvm.runtime.text.frontend.paragraphs import split_paragraphs
from kokoro_tvm.runtime.text.frontend.source import Edit, Link, SourceText


@st.composite
def edited(draw: st.DrawFn) -> tuple[str, list[Edit]]:
    text = draw(st.text("ab ", min_size=1, max_size=12))
    places = sorted(draw(st.lists(st.integers(0, len(text)), max_size=6).filter(lambda p: len(p) % 2 == 0)))
    new = [draw(st.text("xy", max_size=3)) for _ in places[::2]]
    return text, [Edit(a, b, t) for a, b, t in zip(places[::2], places[1::2], new, strict=True)]


@given(edited())
def test_apply_edits_keeps_places(case: tuple[str, list[Edit]]) -> None:
    text, edits = case
    wanted, done = "", 0
    for edit in edits:
        wanted += text[done : edit.start] + edit.text
        done = edit.end
    result = SourceText.of(text).apply_edits(edits)
    assert result.text == wanted + text[done:]
    assert list(result.starts) == sorted(result.starts)
    for char, start, end in zip(result.text, result.starts, result.ends, strict=True):
        assert (char in "xy") or text[start:end] == char


def test_apply_edits_composes() -> None:
    once = SourceText.of("It costs $2.").apply_edits([Edit(9, 11, "2 dollars")])
    twice = once.apply_edits([Edit(9, 10, "two")])
    assert twice.text == "It costs two dollars."
    assert twice.span(9, 20) == (9, 11)
    assert twice.span(20, 21) == (11, 12)


def test_apply_edits_moves_links() -> None:
    text = linked("& [New York](/ˈx/) & [5](#a#) & [a](b)")
    assert text.text == "& New York & 5 & a"
    assert text.links == (Link(2, 10, phonemes="ˈx"), Link(13, 14, flags="a"))
    longer = text.apply_edits([Edit(0, 1, "and"), Edit(11, 12, "")])
    assert [longer.text[link.start : link.end] for link in longer.links] == ["New York", "5"]
    assert longer.span(longer.links[0].start, longer.links[0].end) == (3, 11)


@pytest.mark.parametrize("edit", [Edit(3, 4, ""), Edit(1, 3, "x"), Edit(9, 12, "x")])
def test_apply_edits_refuses_to_change_links(edit: Edit) -> None:
    with pytest.raises(ValueError, match="of a link"):
        linked("a [New York](/ˈx/) b").apply_edits([edit])


def test_apply_edits_refuses_disorder() -> None:
    with pytest.raises(ValueError, match="behind the edit before it"):
        SourceText.of("abc").apply_edits([Edit(2, 3, ""), Edit(0, 1, "")])


def test_split_paragraphs_collapses_space() -> None:
    first, second = split_paragraphs(SourceText.of(" a\n\tb \n \n***\n\nc"))
    assert (first.text, first.starts, first.ends) == ("a b", (1, 2, 4), (2, 4, 5))
    assert (second.text, second.span(0, 1)) == ("c", (14, 15))
