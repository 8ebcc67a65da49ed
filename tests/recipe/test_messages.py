"""The text of errors about plausible mistakes: golden files pin every word."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kokoro_tvm.common.errors import RecipeError
from kokoro_tvm.common.spec import PATTERNS
from kokoro_tvm.recipe import build_schema, load_recipe

GOLDEN = Path(__file__).parent / "golden"
RECIPES = Path(__file__).parent / "recipes"
Refusal = Callable[..., RecipeError]

# Golden file -> the recipe, what is replaced in it, and by what.
SPOILED = {
    "unknown-key": ("here", "tokens:", "toknes:"),
    "missing-key": ("here", "kind: llvm, ", ""),
    "unknown-target-kind": ("here", "llvm", "vulkan"),
    "unknown-cpu": ("here", "native", "natvie"),
    "unknown-length": ("here", "exact", "exat"),
    "unknown-model": ("here", "model: toy", "model: tyo"),
    "bucket-of-6000": ("here", "5120", "6000"),
    "bucket-is-text": ("here", "[128, 512]", '["128", 512]'),
    "bucket-is-no-list": ("here", "[128, 512]", "512"),
    "two-faults": ("here", "[128, 512], frames: [256, 5120]", "[513], frames: [0]"),
    "boolean-trap": ("here", "exact", "no"),
    "no-value": ("here", "exact", ""),
    "value-not-indented": ("here", "buckets: {tokens: [128, 512], ", "buckets:\nframes: [1]\n#"),
    "duplicate-key": ("here", "length: exact", "length: exact\nlength: exact"),
    "never-closed": ("here", "5120]}", "5120"),
    "no-colon": ("here", "length: exact", "length exact"),
    "no-space-after-colon": ("here", "mcpu: native", "mcpu:"),
    "two-colons": ("here", "length: exact", "length: exact: no"),
    "item-beside-its-key": ("here", "length: exact", "passes: - fuse"),
    "indentation": ("here", "length: exact", "gates:\n    f0n: {min_snr_db: 1}\n  bert: {min_snr_db: 1}"),
    "quote-left-open": ("here", "exact", '"exact'),
    "escape": ("here", "exact", '"C:\\zoo"'),
    "unknown-patch": ("full", "decoder: [snake_resblock]", "decoder: [snake_resblok]"),
    "source-without-kind": ("toy", "kind: npm", "knd: npm"),
    "combining-mark": ("toy", "voice: ff_siwis", "voice: siwis"),
    "tab": ("here", "length: exact", "length:\n\texact"),
}
UNREADABLE: dict[str, str | bytes] = {
    "empty": "",
    "not-utf-8": b"model: toy\nlength: \xff\xfe\n",
}
NAMES = {"unknown-recipe": "hree", "no-such-file": "gone.yaml"}
# Golden file -> files beside those of the folder; `mine` is loaded.
COMPOSED = {
    "extends-in-a-circle": {"mine": "extends: other\n", "other": "extends: [here, mine]\n"},
    "fault-in-what-is-extended": {
        "mine": "extends: other\nlength: masked\n",
        "other": "extends: here\nbuckets: {frames: [6000]}\n",
    },
    "gates-of-no-set": {
        "mine": "extends: here\ngates: bfloat17\nmodel: named\n",
        "named": "extends: toy\ngate_sets: {bfloat16: {decoder: {min_snr_db: 20}}}\n",
    },
    "matrix-of-unknown-field": {"a": "extends: here\nmatrix: {target.mcup: {mine: native}}\n"},
    "matrix-without-choices": {"mine": "extends: here\nmatrix: {length: exact}\n"},
    "matrix-loaded-as-one": {"mine": "extends: here\nmatrix: {length: [exact, masked]}\n"},
}
OVERRIDES = {"override-out-of-range": "buckets.frames=[6000]", "override-without-value": "buckets.frames"}


@pytest.fixture(autouse=True)
def folder(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in the folder of recipes, so that messages have short paths."""
    monkeypatch.chdir(root)


@pytest.mark.parametrize("name", SPOILED)
def test_check_file_reports_a_mistake(name: str, refusal: Refusal) -> None:
    recipe, old, new = SPOILED[name]
    text = (RECIPES / f"{recipe}.yaml").read_text(encoding="utf-8")
    assert old in text
    _compare(name, refusal(text.replace(old, new, 1), f"{recipe}.yaml"))


@pytest.mark.parametrize("name", UNREADABLE)
def test_check_file_reports_an_unreadable_file(name: str, refusal: Refusal) -> None:
    _compare(name, refusal(UNREADABLE[name]))


@pytest.mark.parametrize("name", NAMES)
def test_load_recipe_reports_an_unknown_name(name: str) -> None:
    with pytest.raises(RecipeError) as caught:
        load_recipe(NAMES[name], Path())
    _compare(name, caught.value)


@pytest.mark.parametrize("name", COMPOSED)
def test_load_recipe_reports_the_file_with_the_mistake(name: str) -> None:
    for recipe, text in COMPOSED[name].items():
        Path(f"{recipe}.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(RecipeError) as caught:
        load_recipe("mine", Path())
    _compare(name, caught.value)


@pytest.mark.parametrize("name", OVERRIDES)
def test_load_recipe_reports_a_faulty_override(name: str) -> None:
    with pytest.raises(RecipeError) as caught:
        load_recipe("here", Path(), [OVERRIDES[name]])
    _compare(name, caught.value)


def test_every_golden_file_has_a_test() -> None:
    files = {path.stem for path in GOLDEN.glob("*.txt")}
    assert files == {*SPOILED, *UNREADABLE, *NAMES, *COMPOSED, *OVERRIDES}


def test_every_pattern_has_words() -> None:
    """The error of a pattern without words would be a KeyError."""

    def patterns(node: Any) -> Iterator[str]:
        if isinstance(node, dict):
            yield from (value for key, value in node.items() if key == "pattern" and isinstance(value, str))
            node = list(node.values())
        if isinstance(node, list):
            for part in node:
                yield from patterns(part)

    assert set(patterns(build_schema())) <= set(PATTERNS)


def test_span_message_puts_the_caret_behind_combining_marks(refusal: Refusal) -> None:
    text = (RECIPES / "toy.yaml").read_text(encoding="utf-8").replace("voice: ff_siwis", "voice: siwis")
    _, line, caret = str(refusal(text, "toy.yaml")).split("\n")
    assert line.index("siwis") == caret.index("^") + 1  # one combining tilde before it takes no column


def test_span_message_cuts_a_long_line(refusal: Refusal) -> None:
    _, line, caret = str(refusal(f"a: {'x' * 9_000}\nb: [{'1, ' * 1_000}no]\n")).split("\n")
    assert len(line) < 120
    assert line[caret.index("^") :].startswith("no")


def _compare(name: str, error: RecipeError) -> None:
    """Compare a message with golden/NAME.txt; GOLDEN=write in the environment writes the file."""
    path = GOLDEN / f"{name}.txt"
    if os.environ.get("GOLDEN") == "write":
        path.write_text(f"{error}\n", encoding="utf-8")
    assert f"{error}\n" == path.read_text(encoding="utf-8")
    assert error.exit_code == 2
