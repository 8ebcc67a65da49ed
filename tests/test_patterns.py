"""No regular expression takes more than linear time, whatever text it is tried on."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from backtracking import TooManyStepsError, steps, worst
from patterns import ELSEWHERE, Expression, in_python, javascript_expressions, python_expressions

from kokoro_tvm.model.front_end.text_rules import language_file, languages
from kokoro_tvm.runtime.text.frontend.normalization.language import pattern_of
from kokoro_tvm.runtime.text.frontend.tokenizer import LONGEST_PART, Tokenizer, TokenizerRules
from kokoro_tvm.runtime.text.markup import Known, parse


@pytest.fixture(autouse=True)
def deep() -> Iterator[None]:
    """The matcher calls itself for every character."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(20_000)
    yield
    sys.setrecursionlimit(limit)


def problems(expressions: list[Expression]) -> list[str]:
    found = ((each, worst(each.pattern, each.flags)) for each in expressions)
    return [f"{each.place}: {each.pattern} takes long for {text}" for each, text in found if text]


def test_of_python() -> None:
    expressions = list(python_expressions())
    assert len(expressions) > 100
    assert problems(expressions) == []


@pytest.mark.parametrize("language", languages())
def test_of_written_forms(language: str) -> None:
    file = language_file(language)
    lists = {name: dict.fromkeys(words, "") for name, words in file.lists.items()}
    types = {name: {"match": one if isinstance(one, str) else one.match} for name, one in file.types.items()}
    expressions = [
        Expression(f"{language}.yaml: {rule.say}", rf"\A(?:{pattern_of(pattern, lists, types)})")
        for rule in file.rules
        for pattern in rule.patterns
    ]
    assert problems(expressions) == []


def test_of_javascript(tmp_path: Path) -> None:
    expressions = javascript_expressions(tmp_path)
    assert len(expressions) > 100
    tried = {(each.pattern, each.flags) for each in python_expressions()}  # many are the same
    assert problems([each for each in expressions if (each.pattern, each.flags) not in tried]) == []


@pytest.mark.parametrize(
    "pattern",
    [
        r"(a|a)*b",
        r"(?:a*)*$",
        r"(\d+,?)+$",
        r"(<!--.*?-->\s*)*<speak",
        r"\s+$",
        r"[a-z]+@",
        r"^a+|a+$",
        r"\[[^\]]*\]",
        r"(\*{1,3}|~~)(?=\S)(.+?)(?<=\S)\1",
        r"(?<!\w)(_{1,3})(?=\S)(.+?)(?<=\S)\1(?!\w)",
        r"\s*\s*x",
        r"<(?:[^>\s]+|[^>\s@]+@[^>\s]+)>",
    ],
)
def test_what_takes_long_is_found(pattern: str) -> None:
    assert worst(pattern)


@pytest.mark.parametrize(
    "pattern", [r"\w+", r"(?<!\s)\s+$", r"\[[^\[\]]*\]", r"(?:\w{1,63}\.){1,8}x", r"(?i)ab|c"]
)
def test_what_is_linear_is_not_found(pattern: str) -> None:
    assert worst(pattern) is None


def test_steps_do_not_depend_on_a_machine() -> None:
    assert steps("ab", "aab") == steps("ab", "aab")
    assert steps(r"(?:a|a)*b", "a" * 5) * 4 < steps(r"(?:a|a)*b", "a" * 8)
    with pytest.raises(TooManyStepsError):
        steps(r"(?:a|a)*b", "a" * 40)


def test_patterns_of_javascript_in_python() -> None:
    found = {"place": "a.js:1", "flags": "u"}
    source = r"^(?<a>[\p{Lu}[\/])[^]\u{41}\k<a>\W(?<!x)$"
    written = in_python(found | {"source": source})
    assert re.search(written, "A\nAA!")
    assert not re.search(written, "A\nAA!!")


def test_a_word_that_the_rules_of_the_tokenizer_see_is_short() -> None:
    """They are spaCy's, and data: some are quadratic, so that it counts how long what they look at may be."""
    assert {name for _, name in ELSEWHERE if name.startswith("rules.")} == {
        f"rules.{name}" for name in ("prefix", "suffix", "infix", "url")
    }
    tokenizer = Tokenizer(TokenizerRules("^x", "x$", "~", "none", {}))
    pieces = tokenizer("a" * 1000 + " " + "b" * 3)
    assert [piece.text for piece in pieces][-1] == "bbb"
    assert "".join(piece.text for piece in pieces[:-1]) == "a" * 1000
    assert max(len(piece.text) for piece in pieces) == LONGEST_PART


def test_a_text_of_comments_that_is_no_ssml() -> None:
    known = Known(frozenset("a"), lambda voice: "a")
    text = "<!---->" * 140 + "x"
    assert "".join(item.source.text for item in parse(text, known)) == text
