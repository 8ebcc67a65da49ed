"""User lexicon: matching of words, and errors of the file with their place."""

from __future__ import annotations

import builtins
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from linked_text import linked

from kokoro_tvm.common.errors import InputError
from kokoro_tvm.runtime.text.frontend.front_end import FrontEnd
from kokoro_tvm.runtime.text.frontend.source import SourceText
from kokoro_tvm.runtime.text.frontend.user_lexicon import UserLexicon, read_lexicon
from kokoro_tvm.runtime.text.reading import phonemize_sentence

SYMBOLS = set("abcdefgˈ ,.")


def written(folder: Path, content: str | bytes) -> Path:
    path = folder / "words.yaml"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def test_read_lexicon_reads_words_and_comments(tmp_path: Path) -> None:
    text = "# mine\nnginx: ˈabc\n'New  York': \"ˈa b\"  # two words\nno: a\n1984: b\n"
    assert read_lexicon(written(tmp_path, text), SYMBOLS).entries == {
        "nginx": "ˈabc",
        "New York": "ˈa b",
        "no": "a",
        "1984": "b",
    }
    assert read_lexicon(written(tmp_path, "# nothing\n"), SYMBOLS).entries == {}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a: a\nb: c\na: b\n", ":3:1: the key `a` stands here a second time; line 1 has it already."),
        (f"{'a' * 60}: a\n{'a' * 60}: b\n", f":2:1: the key `{'a' * 40}…` stands here a second time;"),
        (
            "a: a\nb:  aX☃\n",
            ":2:5: The model does not know these phonemes of 'aX☃': 'X' (U+0058), '☃' (U+2603).",
        ),
        ("- a\n- b\n", ":1:1: the file should be a mapping, lines of `key: value`."),
        ("a\n", ":1:1: the file should be a mapping"),
        ("a:\n", ":1:1: `a` has no value"),
        ("a: '  '\n", ":1:4: this is empty"),
        ("a: null\n", ":1:4: this is empty"),
        ("a: [b, c]\n", ":1:4: text should stand here, not a list or a mapping"),
        ("a:\n  NOUN: b\n", ":2:3: text should stand here, not a list or a mapping"),
        ("a: &x b\nc: *x\n", ":1:4: anchors and aliases (x) are not allowed: "),
        ("a: !!python/name:os.system b\n", ":1:4: tags ("),
        ("a: b\n---\nc: d\n", ":2:1: a second document starts here"),
        ("a: 'b\n", ":1:4: not valid YAML: the quote that opens here is never closed."),
        ("a: b: c\n", ":1:5: not valid YAML: a second `: ` "),
        (b"a: b\nb\xff: c\n", ":2:2: not UTF-8 text"),
        ("[" * 50_000, ":1:2: text should stand here, not a list or a mapping"),
        ("a: " + "b" * 300, ":1:4: this has 300 characters; 200 are the most."),
    ],
)
def test_read_lexicon_errors_have_line_and_column(tmp_path: Path, content: str | bytes, message: str) -> None:
    path = written(tmp_path, content)
    with pytest.raises(InputError) as caught:
        read_lexicon(path, SYMBOLS)
    assert str(caught.value).startswith(str(path)) and message in str(caught.value)


def test_read_lexicon_refuses_unreadable_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="there is no such file"):
        read_lexicon(tmp_path / "none.yaml", SYMBOLS)
    with pytest.raises(InputError, match="cannot be read"):
        read_lexicon(tmp_path, SYMBOLS)
    real = builtins.__import__

    def missing(name: str, *rest: Any) -> Any:
        if name == "kokoro_tvm.common.yaml_file":
            raise ImportError("No module named 'yaml'")
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(InputError, match="pip install PyYAML"):
        read_lexicon(written(tmp_path, "a: b"), SYMBOLS)


LEXICON = UserLexicon(
    {"New York": "x", "york": "y", "US": "z", "c++": "p", "o'clock": "k", "é": "e", "कल": "h"}
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("In New York, YORK and yorkshire.", [("New York", "x"), ("YORK", "y")]),
        ("The US told us: new york.", [("US", "z"), ("york", "y")]),
        ("C++, c++20, 5 o’clock; né É", [("C++", "p"), ("c++", "p"), ("o’clock", "k"), ("É", "e")]),
        ("कला और कल", [("कल", "h")]),
        ("[York](/a/) and [US](-1) US", [("York", "a"), ("US", "z"), ("US", "z")]),
    ],
)
def test_user_lexicon_links_words(text: str, expected: list[tuple[str, str]]) -> None:
    found = LEXICON.linked(linked(text))
    assert [(found.text[link.start : link.end], link.phonemes) for link in found.links] == expected


def test_user_lexicon_links_within_unspaced_text() -> None:
    lexicon = UserLexicon({"東京": "x"})
    assert lexicon.linked(SourceText.of("私は東京へ")).links == ()
    (link,) = lexicon.linked(SourceText.of("私は東京へ"), spaced=False).links
    assert (link.start, link.end, link.origin) == (2, 4, "user lexicon")


@given(
    st.text("aB c'-", max_size=20),
    st.dictionaries(st.text("abB c", min_size=1).filter(str.strip), st.just("x")),
)
def test_user_lexicon_links_do_not_overlap(text: str, entries: dict[str, str]) -> None:
    links = UserLexicon(entries).linked(SourceText.of(text)).links
    places = [place for link in links for place in (link.start, link.end)]
    assert places == sorted(places)
    assert all(link.start < link.end for link in links)


@pytest.mark.parametrize("code", list("aef"))
def test_user_lexicon_applies_to_other_languages(code: str) -> None:
    """Only words of the lexicon change."""
    text = "Ola mundo, ola."
    front_end = FrontEnd(lexicon=UserLexicon({"mundo": "ˈabc"}))
    (utterance,) = phonemize_sentence(SourceText.of(text), code, front_end)
    assert [t.text for t in utterance.tokens] == ["Ola", "mundo", ",", "ola", "."]
    assert all(text[t.start : t.end] == t.text for t in utterance.tokens)
    (given_,) = (t for t in utterance.tokens if t.origin == "user lexicon")
    assert (given_.text, given_.phonemes) == ("mundo", "ˈabc")
    assert " ˈabc, " in utterance.phonemes
