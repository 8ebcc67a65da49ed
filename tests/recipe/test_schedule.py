"""The file that `kokoro-tvm tune` writes beside a recipe."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kokoro_tvm.errors import RecipeError
from kokoro_tvm.recipe import Known, LayerChoice, Tuned, load_recipe, schedule_path, to_yaml, write_schedule

TARGET = Tuned(kind="llvm", mtriple="x86_64-linux-gnu", mcpu="znver5", mattr=("-sse4a",))
CHOICES = {"decoder": {"conv1d 8->8 k3 d1 float32 8x16": LayerChoice(outputs=4, taps=3, tiles=8)}}


@pytest.fixture
def path(root: Path) -> Path:
    return schedule_path(root / "here.yaml")


def test_what_is_written_is_read(root: Path, known: Known, path: Path) -> None:
    assert load_recipe("here", root, known).schedule == {}
    write_schedule(path, TARGET, CHOICES)
    assert path == root / "schedules" / "here.json"
    recipe = load_recipe("here", root, known)
    assert recipe.schedule == CHOICES
    assert "conv1d 8->8 k3 d1 float32 8x16: {outputs: 4, taps: 3, tiles: 8}" in to_yaml(recipe)
    assert load_recipe("full", root, known).schedule == {}
    assert [p.name for p in path.parent.iterdir()] == ["here.json"]


def test_nothing_to_say_leaves_no_file(root: Path, known: Known, path: Path) -> None:
    write_schedule(path, TARGET, {"decoder": {}})
    assert not path.exists()
    write_schedule(path, TARGET, CHOICES)
    write_schedule(path, TARGET, {"decoder": {}})
    assert not path.exists()
    assert load_recipe("here", root, known).schedule == {}


@pytest.mark.parametrize(
    ("change", "result"),
    [
        (("tiles", "tilse"), "unknown key `tilse` in .*; did you mean `tiles`?"),
        (('"tiles": 8', '"tiles": 0'), "0 is too small; the least is 1"),
        (('"tiles": 8', '"tiles": "8"'), "expected a whole number, found `8`"),
        (('"decoder"', '"decodre"'), "decodre"),
        (('"taps": 3,', ""), "lacks the key `taps`"),
        (("}", "]"), "not valid YAML"),
    ],
)
def test_faults_are_reported_with_their_place(
    root: Path, known: Known, path: Path, change: tuple[str, str], result: str
) -> None:
    write_schedule(path, TARGET, CHOICES)
    text = json.dumps(json.loads(path.read_text(encoding="utf-8")), indent=1)
    path.write_text(text.replace(*change), encoding="utf-8")
    with pytest.raises(RecipeError, match=rf"here\.json:\d+:\d+: .*{result}"):
        load_recipe("here", root, known)
