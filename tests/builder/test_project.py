"""Words of a command line as graphs and stages."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from kokoro_tvm.builder.project import Project
from kokoro_tvm.common.errors import RecipeError

RECIPES = Path(__file__).parents[2] / "recipes"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    (tmp_path / "recipes").mkdir()
    for name in ("cpu", "kokoro-82m", "x86-64"):
        shutil.copy(RECIPES / f"{name}.yaml", tmp_path / "recipes")
    (tmp_path / "recipes" / "broken.yaml").write_text("model: [\n", encoding="utf-8")
    return Project(tmp_path)


@pytest.mark.parametrize(
    ("word", "recipe", "stages"),
    [
        ("cpu", "cpu", "cpu.speak cpu.speech cpu.throughput"),
        ("x86-64-v3", "x86-64-v3", "x86-64-v3.speak x86-64-v3.speech x86-64-v3.throughput"),
        ("cpu/decoder-5120", "cpu", "cpu.validate.decoder-5120"),
        ("decoder-5120", "cpu", "cpu.validate.decoder-5120"),
        ("cpu.compile.f0n-5120", "cpu", "cpu.compile.f0n-5120"),
        ("x86-64-v3.machine", "x86-64-v3", "x86-64-v3.machine"),
        ("kokoro-82m.reference", "cpu", "kokoro-82m.reference"),
    ],
)
def test_find_resolves_words(project: Project, word: str, recipe: str, stages: str) -> None:
    result = project.find(word)
    assert result.graph.recipe.name == recipe
    assert [s.name for s in result.stages] == stages.split()


@pytest.mark.parametrize(
    ("word", "result"),
    [
        ("cpo", "there is nothing called `cpo`; did you mean `cpu`?"),
        ("cpu/decoder-512", "the recipe cpu has no artifact `decoder-512`; did you mean `decoder-5120`?"),
        ("cpo/decoder-5120", "there is no recipe `cpo`; did you mean `cpu`?"),
        ("cpu.machina", "there is no stage called `cpu.machina`; did you mean `cpu.machine`?"),
        ("cpu.", "there is no stage called `cpu.`"),
        ("", "there is nothing called ``"),
        ("broken", "broken.yaml:1:8: "),
        ("broken.machine", "broken.yaml:1:8: "),
    ],
)
def test_find_suggests_names(project: Project, word: str, result: str) -> None:
    with pytest.raises(RecipeError) as raised:
        project.find(word)
    assert result in str(raised.value)


def test_recipes_are_listed(project: Project) -> None:
    assert project.recipes() == ["broken", "cpu", "x86-64-v3", "x86-64-v4"]
    (project.root / "recipes" / "checkpoint.yaml").write_text("extends: cpu\n", encoding="utf-8")
    with pytest.raises(RecipeError, match="the name checkpoint is taken; give the recipe another one"):
        project.graph("checkpoint")
