"""Language files of letter-to-sound rules: compilation, and errors with their place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kokoro_tvm.common.errors import RecipeError
from kokoro_tvm.model.front_end.sound_rules import (
    SoundsFile,
    compile_sounds,
    compile_sounds_file,
    list_sound_languages,
)
from kokoro_tvm.recipe.validate import read_document
from kokoro_tvm.runtime.text.frontend.normalization import LANGUAGE_FILES
from kokoro_tvm.runtime.text.frontend.sounds import MAX_REPEATS

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
    return compile_sounds_file(read_document(path, SoundsFile))


def test_compile_sounds_file(tmp_path: Path) -> None:
    result = compiled(tmp_path, FILE)
    assert result["letters"] == "abc'"
    assert result["tags"] == {"a": "°", "b": "°"}
    assert result["passes"] == [
        {
            "unless": "",
            "feeding": False,
            "rules": [
                ([("c", True, 1, 1)], "k", [], [("aeo", True, 1, 1)]),
                (
                    [("c", True, 1, 1)],
                    "k",
                    [("#", True, 1, 1)],
                    [("a", True, 1, 1), ("b", True, 0, MAX_REPEATS)],
                ),
                (
                    [("c", True, 1, 1)],
                    "k",
                    [("#", True, 1, 1)],
                    [("e", True, 1, 1), ("b", True, 0, MAX_REPEATS)],
                ),
                ([("a", True, 1, 1)], "&&", [], []),
                ([("b", True, 1, 1)], "&&", [], []),
            ],
        }
    ]


def test_compile_sounds_replaces_foreign_letters(tmp_path: Path) -> None:
    result = compiled(tmp_path, FILE)
    assert {"á": "a", "ć": "c", "æ": "a"}.items() <= result["replacements"].items()
    assert "ß" not in result["replacements"], "the language has no s"


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
def test_sounds_file_names_invalid_rules(tmp_path: Path, line: str, message: str) -> None:
    start = FILE.partition("      c ->")[0]
    with pytest.raises(RecipeError) as error:
        compiled(tmp_path, f"{start}      {line}\n")
    assert message in str(error.value)
    assert "xx.yaml:6:" in str(error.value)


def test_compile_sounds_inflects_accented_stems(tmp_path: Path) -> None:
    accents = 'accents: {-o -i -hi: bàc, "-": àbà cébó}\n'
    result = compiled(tmp_path, FILE.replace("passes:", f"{accents}passes:"))
    assert result["words"] == {
        "cab": "abc", "baco": "bàco", "baci": "bàci", "bachi": "bàchi", "aba": "àbà", "cebo": "cébó",
    }  # fmt: skip


def test_sounds_file_names_words_with_two_accents(tmp_path: Path) -> None:
    accents = 'accents:\n  -o -a: bàc\n  "-": bàco bacó\n'
    with pytest.raises(RecipeError) as error:
        compiled(tmp_path, FILE.replace("passes:", f"{accents}passes:"))
    assert "xx.yaml:7:8: `accents.-`: bacó is also bàco." in str(error.value)


@pytest.mark.parametrize("language", list_sound_languages())
def test_shipped_sounds_files_are_bounded(language: str) -> None:
    data = compile_sounds(language)
    assert language in LANGUAGE_FILES.values()
    for item in (*data["passes"], *data["clauses"]):
        for focus, _, left, right in item["rules"]:
            assert all(most <= MAX_REPEATS for *_, most in (*focus, *left, *right))
