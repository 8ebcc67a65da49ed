"""Keys of the stages that fetch."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import kokoro_tvm
from kokoro_tvm.builder.engine import code, versions
from kokoro_tvm.builder.engine.stage import Stage
from kokoro_tvm.builder.engine.state import changes
from kokoro_tvm.builder.graph import RecipeGraph
from kokoro_tvm.recipe import load_recipe

RECIPES = Path(__file__).parents[3] / "recipes"
PACKAGE = Path(kokoro_tvm.__file__).parent


@pytest.fixture
def graph(tmp_path: Path) -> RecipeGraph:
    return RecipeGraph(load_recipe("cpu", RECIPES), tmp_path, tmp_path)


def changed(stage: Stage, before: list[dict[str, object]]) -> set[str]:
    """Return the names of the parts that differ from the derivations before."""
    now = stage.derivations()
    return {change.name for a, b in zip(before, now, strict=True) for change in changes(a, b)}


@pytest.mark.parametrize(
    "file", ["model/front_end/spacy.json", "model/front_end/text/en.yaml", "model/front_end/text/ja.yaml"]
)
def test_front_end_key_has_the_data_of_its_conversion(
    graph: RecipeGraph, file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage = graph.front_end
    assert stage is not None
    before = stage.derivations()
    copy = tmp_path / "kokoro_tvm"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__", "web"))
    monkeypatch.setattr(code, "_PACKAGE", copy)
    assert changed(stage, before) == set()
    with (copy / file).open("a", encoding="utf-8") as stream:
        stream.write(" ")
    assert changed(stage, before) == {f"conversion.files.{file}"}


@pytest.mark.parametrize("package", ["onnx", "protobuf", "safetensors", "torch"])
def test_checkpoint_key_has_the_versions_of_its_readers(
    graph: RecipeGraph, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, there = graph.checkpoint.derivations(), versions._version
    monkeypatch.setattr(versions, "_version", lambda name: "0.0" if name == package else there(name))
    assert changed(graph.checkpoint, before) == {f"versions.{package}"}
