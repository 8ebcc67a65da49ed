"""Names that recipes cannot have."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from checkout import ROOT, graph_of

from kokoro_tvm.builder.names import SHARED, check_name
from kokoro_tvm.cli import main
from kokoro_tvm.common.errors import RecipeError
from kokoro_tvm.recipe import list_recipes

DOIT = "help run list info clean forget ignore dumpdb strace tabcompletion reset-dep"


@pytest.mark.parametrize("name", [*DOIT.split(), "ci", "nightly", "report", "docs", *SHARED, "peers", "npm"])
def test_check_name_rejects_taken_names(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    recipes = tmp_path / "recipes"
    shutil.copytree(ROOT / "recipes", recipes)
    (recipes / "cpu.yaml").rename(recipes / f"{name}.yaml")
    monkeypatch.chdir(tmp_path)
    for words in (("recipe", "check"), ("plan", name), ("build", name)):
        with pytest.raises(SystemExit) as error:
            main(words)
        assert error.value.code == 2
        assert f"recipes/{name}.yaml: the name {name} is taken" in capsys.readouterr().err


@pytest.mark.parametrize("name", list_recipes(ROOT / "recipes"))
def test_check_name_accepts_shipped_recipes(name: str) -> None:
    check_name(name, Path(f"{name}.yaml"))


def test_names_cover_folders_beside_bundles() -> None:
    graph = graph_of("cpu")
    folders = {stage.folder for stage in graph.stages()}
    beside = {folder.parent.name for folder in folders if folder.parent.parent == graph.artifacts}
    assert beside - {".build"} == set(SHARED)


def test_check_name_says_what_has_the_name() -> None:
    with pytest.raises(RecipeError) as raised:
        check_name("forget", Path("recipes/forget.yaml"))
    assert str(raised.value) == (
        "recipes/forget.yaml: the name forget is taken; give the recipe another one: it is a command of "
        "doit, so that `doit forget` would not build it."
    )
