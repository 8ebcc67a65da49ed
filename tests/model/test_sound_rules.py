"""A language's file of letter-to-sound rules: what it becomes, and what is refused, with its place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kokoro_tvm.common.errors import RecipeError
from kokoro_tvm.model.front_end.sound_rules import SoundsFile, compiled_file, compiled_sounds, sound_languages
from kokoro_tvm.recipe.validate import read_document
from kokoro_tvm.runtime.text.frontend.normalization import LANGUAGE_FILES
from kokoro_tvm.runtime.text.frontend.sounds import MOST

FILE = """\
letters: abc
classes: {V: ae, W: Vo}
tags: {°: a b}
words: {cab: abc}
passes:
  - rules: |
      c -> k / _[Vo], #_{a|e}b*  ; a comment
      a,b -> &&
"""


def compiled(tmp_path: Path, text: str) -> dict[str, Any]:
    path = tmp_path / "xx.yaml"
    path.write_text(text, encoding="utf-8")
    return compiled_file(read_document(path, SoundsFile))


def test_a_file_becomes_lists(tmp_path: Path) -> None:
    found = compiled(tmp_path, FILE)
    assert found["letters"] == "abc'"
    assert found["tags"] == {"a": "°", "b": "°"}
    assert found["passes"] == [
        {
            "unless": "",
            "feeding": False,
            "rules": [
                ([("c", True, 1, 1)], "k", [], [("aeo", True, 1, 1)]),
                ([("c", True, 1, 1)], "k", [("#", True, 1, 1)], [("a", True, 1, 1), ("b", True, 0, MOST)]),
                ([("c", True, 1, 1)], "k", [("#", True, 1, 1)], [("e", True, 1, 1), ("b", True, 0, MOST)]),
                ([("a", True, 1, 1)], "&&", [], []),
                ([("b", True, 1, 1)], "&&", [], []),
            ],
        }
    ]


def test_letters_that_a_language_has_not_are_replaced(tmp_path: Path) -> None:
    found = compiled(tmp_path, FILE)
    assert {"á": "a", "ć": "c", "æ": "a"}.items() <= found["replacements"].items()
    assert "ß" not in found["replacements"], "the language has no s"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("c k", "line 1, `c k`: has no `->`"),
        ("c -> k / a", "line 1, `c -> k / a`: has no `_` in its context"),
        ("c* -> k", "line 1, `c* -> k`: what is replaced is one character after another, each from a set"),
        (
            "[^c] -> k",
            "line 1, `[^c] -> k`: what is replaced is one character after another, each from a set",
        ),
        ("-> k", "line 1, `-> k`: what is replaced is one character after another, each from a set"),
        ("c -> k / _[a", "line 1, `c -> k / _[a`: `[a` is no character, class or [set] with * + or ?"),
    ],
)
def test_a_line_that_is_no_rule_is_named(tmp_path: Path, line: str, message: str) -> None:
    start = FILE.partition("      c ->")[0]
    with pytest.raises(RecipeError) as found:
        compiled(tmp_path, f"{start}      {line}\n")
    assert message in str(found.value)
    assert "xx.yaml:6:" in str(found.value)


def test_accented_stems_are_put_to_their_endings(tmp_path: Path) -> None:
    accents = 'accents: {-o -i -hi: bàc, "-": àbà cébó}\n'
    found = compiled(tmp_path, FILE.replace("passes:", f"{accents}passes:"))
    assert found["words"] == {
        "cab": "abc", "baco": "bàco", "baci": "bàci", "bachi": "bàchi", "aba": "àbà", "cebo": "cébó",
    }  # fmt: skip


def test_a_word_with_two_accents_is_named(tmp_path: Path) -> None:
    accents = 'accents:\n  -o -a: bàc\n  "-": bàco bacó\n'
    with pytest.raises(RecipeError) as found:
        compiled(tmp_path, FILE.replace("passes:", f"{accents}passes:"))
    assert "xx.yaml:7:8: `accents.-`: bacó is also bàco." in str(found.value)


@pytest.mark.parametrize("language", sound_languages())
def test_every_shipped_file_compiles_with_bounds(language: str) -> None:
    data = compiled_sounds(language)
    assert language in LANGUAGE_FILES.values()
    for each in (*data["passes"], *data["clauses"]):
        for focus, _, left, right in each["rules"]:
            assert all(most <= MOST for *_, most in (*focus, *left, *right))
