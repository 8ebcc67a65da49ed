"""The stage `text`: the front end as WebAssembly."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from kokoro_tvm.builder.engine.store import Store
from kokoro_tvm.builder.graph import RecipeGraph
from kokoro_tvm.builder.stages import text
from kokoro_tvm.builder.stages.base import Place
from kokoro_tvm.native import libkokoro
from kokoro_tvm.recipe import load_recipe

ROOT = Path(__file__).parents[3]


def graph_of(recipe: str, folder: Path) -> RecipeGraph:
    return RecipeGraph(load_recipe(recipe, ROOT / "recipes"), folder, ROOT)


@pytest.mark.parametrize("recipe", ["wasm", "wasm-small", "webgpu"])
def test_recipe_for_browsers_has_the_text_stage(recipe: str, tmp_path: Path) -> None:
    stages = {stage.name: stage for stage in graph_of(recipe, tmp_path).stages()}
    assert stages[f"{recipe}.bundle"].inputs["text.wasm"] == (stages[f"{recipe}.text"], "text.wasm")


def test_other_recipe_has_no_text_stage(tmp_path: Path) -> None:
    assert "cpu.text" not in [stage.name for stage in graph_of("cpu", tmp_path).stages()]


def test_sources_of_the_key_are_those_that_the_compiler_reads(tmp_path: Path) -> None:
    if shutil.which("gcc") is None:
        pytest.skip("no gcc (Debian: apt-get install gcc)")
    for name, content in libkokoro.generated.tables().items():
        (tmp_path / name).write_text(content, encoding="ascii")
    made_of = libkokoro.text_sources()
    folders = [f"-I{libkokoro.FOLDER / 'wasm'}", f"-I{libkokoro.FOLDER}", f"-I{tmp_path}"]
    compiled = [str(path) for path in made_of if path.suffix == ".c"]
    command = ["gcc", "-MM", *folders, *compiled]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout.replace("\\\n", " ")
    read = {Path(word).resolve() for line in printed.splitlines() for word in line.partition(":")[2].split()}
    assert {path for path in read if path.is_relative_to(libkokoro.FOLDER)} == set(made_of)


def test_source_edit_makes_text_stale(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = Place("wasm", tmp_path / "artifacts", Store(tmp_path / "store"))
    monkeypatch.setattr(text.WASI.__class__, "version", lambda *_: "zig 1")
    before = text.declare(place).facts()
    shutil.copytree(libkokoro.FOLDER, tmp_path / "copy")
    monkeypatch.setattr(libkokoro, "FOLDER", tmp_path / "copy")
    assert text.declare(place).facts() == before
    with (tmp_path / "copy" / "text" / "letters.c").open("a", encoding="utf-8") as stream:
        stream.write("/* another */\n")
    changed = text.declare(place).facts()
    assert changed["sources"].pop("text/letters.c") != before["sources"].pop("text/letters.c")
    assert changed == before
