"""Recipes of a matrix: names, contents and faults."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kokoro_tvm.common.errors import RecipeError
from kokoro_tvm.recipe import RecipeIndex, check_file, list_recipes, load_recipe

MATRIX = """\
extends: here
matrix:
  target.mcpu: [x86-64-v2, x86-64-v3]
  length: [exact, masked]
timeout_s: 60
"""


@pytest.fixture
def matrix(root: Path) -> Path:
    (root / "several.yaml").write_text(MATRIX, encoding="utf-8")
    return root


def test_matrix_makes_a_recipe_of_every_combination(matrix: Path) -> None:
    names = ["x86-64-v2-exact", "x86-64-v2-masked", "x86-64-v3-exact", "x86-64-v3-masked"]
    assert list_recipes(matrix) == ["full", "here", *names]
    assert [loaded.recipe.name for loaded in check_file(matrix / "several.yaml", matrix)] == names
    recipe = load_recipe("x86-64-v3-masked", matrix)
    here = load_recipe("here", matrix)
    assert recipe.target == here.target.model_copy(update={"mcpu": "x86-64-v3"})
    assert recipe.model_copy(update={"target": here.target}) == here.model_copy(
        update={"name": "x86-64-v3-masked", "length": "masked", "timeout_s": 60}
    )


def test_matrix_names_recipes_by_a_template_and_excludes_combinations(matrix: Path) -> None:
    options = '  name: "{length}-on-{mcpu}"\n  exclude: [{mcpu: x86-64-v2, length: masked}]\n'
    (matrix / "several.yaml").write_text(MATRIX.replace("timeout_s", f"{options}timeout_s"), encoding="utf-8")
    names = ["exact-on-x86-64-v2", "exact-on-x86-64-v3", "masked-on-x86-64-v3"]
    assert sorted(list_recipes(matrix)) == sorted(["full", "here", *names])


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ('name: "{mcpx}"', ":5:9: `matrix.name`: no axis is called `mcpx`"),
        ("exclude: [{mcpx: a}]", ":5:14: `matrix.exclude`: no axis is called `mcpx`"),
        ("exclude: [{length: exakt}]", ":5:22: `matrix.exclude`: `length` has no choice `exakt`"),
    ],
)
def test_matrix_reports_wrong_options_with_their_place(option: str, message: str, matrix: Path) -> None:
    text = MATRIX.replace("timeout_s", f"  {option}\ntimeout_s")
    (matrix / "several.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(RecipeError, match=re.escape(message)):
        check_file(matrix / "several.yaml", matrix)


def test_matrix_merges_labelled_choices(matrix: Path) -> None:
    (matrix / "several.yaml").write_text(
        "extends: here\ntarget: {mattr: [+fma]}\nmatrix:\n  target:\n"
        "    old: {mcpu: x86-64-v2}\n    new: {mcpu: x86-64-v4, mattr: [-prefer-256-bit]}\n",
        encoding="utf-8",
    )
    targets = [load_recipe(name, matrix).target for name in ("old", "new")]
    assert [(t.mcpu, t.mattr) for t in targets] == [
        ("x86-64-v2", ("+fma",)),
        ("x86-64-v4", ("-prefer-256-bit",)),
    ]


def test_matrix_recipe_can_be_extended(matrix: Path) -> None:
    (matrix / "mine.yaml").write_text("extends: x86-64-v3-masked\nprecision: bfloat16\n", encoding="utf-8")
    recipe = load_recipe("mine", matrix)
    assert (recipe.target.mcpu, recipe.length, recipe.precision) == ("x86-64-v3", "masked", "bfloat16")


def test_matrix_accepts_names_of_gate_sets(matrix: Path) -> None:
    (matrix / "named.yaml").write_text(
        "extends: toy\ngate_sets: {low: {decoder: {min_snr_db: 1}}, high: {decoder: {min_snr_db: 99}}}\n",
        encoding="utf-8",
    )
    (matrix / "several.yaml").write_text(
        "extends: here\nmodel: named\ngates: {f0n: {min_snr_db: 5}}\nmatrix: {gates: [low, high]}\n",
        encoding="utf-8",
    )
    gates = [load_recipe(name, matrix).gates for name in ("low", "high")]
    assert [(g.decoder.min_snr_db, g.f0n.min_snr_db) for g in gates] == [(1, 80), (99, 80)]


def test_matrix_extends_keeps_the_fields_of_the_file(matrix: Path) -> None:
    (matrix / "several.yaml").write_text(
        "matrix: {extends: {over-here: here, over-full: full}}\nlength: padded\nbuckets: {frames: [256]}\n"
        "gates: {enforce: false}\n",
        encoding="utf-8",
    )
    here, full = (load_recipe(name, matrix) for name in ("over-here", "over-full"))
    assert {recipe.length for recipe in (here, full)} == {"padded"}
    assert (here.buckets.frames, here.buckets.tokens) == ((256,), (128, 512))
    assert (full.buckets.frames, full.buckets.tokens) == ((256,), (64,))


def test_matrix_extends_beside_extends_is_refused(matrix: Path) -> None:
    (matrix / "several.yaml").write_text("extends: here\nmatrix: {extends: [full]}\n", encoding="utf-8")
    with pytest.raises(RecipeError, match=r":2:10: `matrix.extends`: the file has `extends` too; keep one"):
        check_file(matrix / "several.yaml", matrix)


@pytest.mark.parametrize("file", ["aaa.yaml", "zzz.yaml"])
def test_duplicate_name_is_reported_at_the_matrix(matrix: Path, file: str) -> None:
    (matrix / "several.yaml").rename(matrix / file)
    (matrix / file).write_text("extends: here\nmatrix:\n  precision: {full: float32}\n", encoding="utf-8")
    with pytest.raises(RecipeError) as caught:
        RecipeIndex([matrix]).find("full")
    message = str(caught.value)
    assert message.startswith(f"{matrix / file}:3:3: two recipes are called `full`")
    assert f"and that of {matrix / 'full.yaml'}:" in message


def test_list_recipes_lists_a_faulty_matrix_by_its_file(matrix: Path) -> None:
    (matrix / "several.yaml").write_text("extends: here\nmatrix: {}\n", encoding="utf-8")
    assert list_recipes(matrix) == ["full", "here", "several"]
