"""Sets of recipes, and recipes that this machine cannot run."""

from __future__ import annotations

import io
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml
from doit.cmd_base import ModuleTaskLoader
from doit.doit_cmd import DoitMain

from kokoro_tvm.builder.engine.reporter import LineReporter
from kokoro_tvm.builder.names import SETS
from kokoro_tvm.builder.tasks import doit_config, recipe_tasks
from kokoro_tvm.common.cpu_features import PORTABLE
from kokoro_tvm.recipe import Recipe, list_recipes, load_recipe, read_recipe
from kokoro_tvm.targets import cpu_tools, tools_for

RECIPES = Path(__file__).parents[2] / "recipes"
SHIPPED = [load_recipe(name, RECIPES) for name in list_recipes(RECIPES)]
V3, V4 = PORTABLE["x86-64-v3"], PORTABLE["x86-64-v4"]


def recipe(name: str) -> Recipe:
    return next(r for r in SHIPPED if r.name == name)


def list_lacking_features(recipe: Recipe) -> tuple[str, ...]:
    """Return the features that the recipe needs and this machine lacks."""
    return tools_for(recipe.target).list_lacking_features(recipe.precision)


def on_a_cpu_with(features: frozenset[str] | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cpu_tools, "features_of_cpu", lambda: features)


def tasks_of(root: Path) -> dict[str, dict[str, Any]]:
    """Return the tasks of the recipes in `root`, by default copies of the shipped ones."""
    if not (root / "recipes").exists():
        (root / "recipes").symlink_to(RECIPES)
    result = recipe_tasks(root, LineReporter(io.StringIO(), io.StringIO()))
    return {task["basename"]: task for task in result}


def test_shipped_recipes_have_sets() -> None:
    assert all("nightly" in recipe.sets for recipe in SHIPPED)
    assert [recipe.name for recipe in SHIPPED if "ci" in recipe.sets] == ["cpu"]


@pytest.mark.parametrize(
    ("name", "had", "missing"),
    [
        ("cpu", frozenset(), ()),  # whatever there is
        ("cpu", None, ()),
        ("cpu-bf16", V4, ("avx512bf16",)),
        ("cpu-bf16", V4 | {"avx512bf16"}, ()),
        ("cpu-bf16", None, ()),  # nobody knows; the build will tell
        ("x86-64-amx", V4 | {"avx512bf16"}, ()),  # which is emulated
        ("x86-64-amx", V4, ("avx512bf16",)),
        ("x86-64-v3", V3, ()),
        ("x86-64-v3", V3 - {"fma", "avx2"}, ("avx2", "fma")),
        ("x86-64-v4", V3, ("avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl")),
        ("x86-64-v4", V4, ()),
    ],
)
def test_lacking_names_missing_features(
    name: str, had: frozenset[str] | None, missing: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    on_a_cpu_with(had, monkeypatch)
    assert list_lacking_features(recipe(name)) == missing


def test_lacking_reads_mattr(monkeypatch: pytest.MonkeyPatch) -> None:
    given = recipe("x86-64-v3")
    target = given.target.model_copy(
        update={"mattr": ("+avx512vnni", "-fma", "-prefer-256-bit", "+fast-hops")}
    )
    on_a_cpu_with(V3 - {"fma"}, monkeypatch)
    assert list_lacking_features(given.model_copy(update={"target": target})) == ("avx512vnni",)


def test_set_skips_recipes_that_cannot_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    on_a_cpu_with(V3, monkeypatch)
    result = tasks_of(tmp_path)
    assert result["ci"]["task_dep"] == ["cpu"]
    assert set(result["nightly"]["task_dep"]) == {
        f"{r.name}.not-here" if r.name in ("cpu-bf16", "x86-64-amx", "x86-64-v4") else r.name for r in SHIPPED
    }
    on_a_cpu_with(None, monkeypatch)
    assert tasks_of(tmp_path)["nightly"]["task_dep"] == [r.name for r in SHIPPED]


def test_set_runs_its_recipes(tmp_path: Path) -> None:
    result = tasks_of(tmp_path)
    assert set(SETS) <= result.keys()
    for word in SETS:
        assert set(result[word]["task_dep"]) <= result.keys()


def test_broken_recipe_fails_every_set(tmp_path: Path) -> None:
    recipes = tmp_path / "recipes"
    shutil.copytree(RECIPES, recipes)
    (recipes / "mine.yaml").write_text("model: kokoro-82m\nsets: [ci\n", encoding="utf-8")
    result = tasks_of(tmp_path)
    assert all("mine" in result[word]["task_dep"] for word in SETS)


def test_skipped_recipes_are_reported_after_failures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The set has a recipe that cannot run here and one that cannot be read, so nothing is compiled."""
    recipes = tmp_path / "recipes"
    recipes.mkdir()
    shutil.copy(RECIPES / "kokoro-82m.yaml", recipes)
    written_out = yaml.safe_dump(read_recipe("x86-64-v4", RECIPES).target.data())
    (recipes / "x86-64-v4.yaml").write_text(written_out, encoding="utf-8")
    (recipes / "mine.yaml").write_text("model: [", encoding="utf-8")
    on_a_cpu_with(V3, monkeypatch)
    out, err = io.StringIO(), io.StringIO()
    reporter = LineReporter(out, err)
    loader = ModuleTaskLoader(
        {
            "DOIT_CONFIG": doit_config(reporter) | {"default_tasks": None},
            "task_all": lambda: recipe_tasks(tmp_path, reporter),
        }
    )
    assert DoitMain(loader, config_filenames=()).run(["run", "nightly"]) != 0
    assert "x86-64-v4: not run, because this CPU lacks avx512bw, " in out.getvalue()
    assert "mine.yaml:1:8: not valid YAML" in err.getvalue()
