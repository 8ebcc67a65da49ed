"""Tasks of doit."""

from __future__ import annotations

import io
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from doit.cmd_base import ModuleTaskLoader
from doit.doit_cmd import DoitMain
from made_stages import stage_in

from kokoro_tvm.builder import tasks
from kokoro_tvm.builder.engine.reporter import LineReporter
from kokoro_tvm.builder.engine.resources import Budget, Needs
from kokoro_tvm.builder.engine.stage import Stage
from kokoro_tvm.builder.tasks import doit_config, recipe_tasks
from kokoro_tvm.common.errors import RecipeError, ValidationError

REPOSITORY = Path(__file__).parents[2]
WHOLE = "extends: cpu\n"
MACHINE = Budget(Needs(memory_gb=8, cpus=4))


class Doit:
    """Runs doit with some tasks, and keeps its output."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.out, self.err = io.StringIO(), io.StringIO()
        self.reporter = LineReporter(self.out, self.err)

    def run(self, make: Callable[[LineReporter], Any], *words: str) -> int:
        self.out, self.err = io.StringIO(), io.StringIO()
        self.reporter = LineReporter(self.out, self.err)
        config = doit_config(self.reporter) | {"default_tasks": None}
        loader = ModuleTaskLoader({"DOIT_CONFIG": config, "task_all": lambda: make(self.reporter)})
        return int(DoitMain(loader, config_filenames=()).run(["run", *words]))


@pytest.fixture
def doit(tmp_path: Path) -> Doit:
    return Doit(tmp_path)


def stage(folder: Path, name: str, *after: Stage, function: str = "write", **parameters: Any) -> Stage:
    return stage_in(
        folder,
        name,
        function,
        folder=folder,
        outputs=(name,),
        inputs={s.name: (s, s.outputs[0]) for s in after},
        parameters=parameters or ({"file": name, "text": name} if function == "write" else {}),
    )


@pytest.mark.parametrize("parallel", [[], ["-n", "2"]])
def test_build_continues_after_a_failure(doit: Doit, parallel: list[str]) -> None:
    root = stage(doit.folder, "root")
    bad = stage(doit.folder, "bad", root, function="refuse", message="It missed.")
    stages = [root, bad, stage(doit.folder, "worse", bad), stage(doit.folder, "good", root)]

    def make(reporter: LineReporter) -> Any:
        return (tasks._task(s, reporter, MACHINE) for s in stages)

    assert doit.run(make, *parallel) != 0
    assert [s.is_current() for s in stages] == [True, False, False, True]
    log = doit.folder / "bad-work" / "bad.log"
    assert doit.err.getvalue() == f"\ncpu.bad: It missed. Its log is {log}.\n"
    assert doit.out.getvalue().endswith(
        "2 stages built, 0 up to date, 1 failed, 1 not built because of that.\n"
    )
    assert isinstance(doit.reporter.failures["cpu.bad"], ValidationError)
    doit.run(make, *parallel)
    assert "0 stages built, 2 up to date, 1 failed" in doit.out.getvalue()


@pytest.mark.parametrize("parallel", [[], ["-n", "2"]])
def test_second_run_executes_nothing(doit: Doit, parallel: list[str]) -> None:
    first = stage(doit.folder, "first")
    stages = [first, *(stage(doit.folder, name, first) for name in "abcd")]

    def make(reporter: LineReporter) -> Any:
        return (tasks._task(s, reporter, MACHINE) for s in stages)

    assert doit.run(make, *parallel) == 0
    assert "\n5 stages built, 0 up to date (" in doit.out.getvalue()
    assert doit.run(make, *parallel) == 0
    assert doit.out.getvalue() == "Nothing to do: all 5 stages are up to date.\n"


def test_stages_take_turns_if_memory_is_short(doit: Doit) -> None:
    """Each stage writes when it began and ended."""
    stages = [
        replace(stage(doit.folder, name, function="span", file=name), needs=Needs(memory_gb=5))
        for name in "abc"
    ]
    assert doit.run(lambda reporter: (tasks._task(s, reporter, MACHINE) for s in stages), "-n", "3") == 0
    spans = sorted(tuple(map(float, s.path(s.name[-1]).read_text().split())) for s in stages)
    assert len(spans) == 3
    assert all(end <= begin for (_, end), (begin, _) in pairwise(spans))


@pytest.fixture
def recipes(tmp_path: Path) -> Path:
    folder = tmp_path / "recipes"
    folder.mkdir()
    for name in ("cpu", "kokoro-82m"):
        shutil.copy(REPOSITORY / "recipes" / f"{name}.yaml", folder)
    return folder


def test_recipe_tasks_cover_recipe_and_stages(recipes: Path, doit: Doit) -> None:
    results = {t["basename"]: t for t in recipe_tasks(doit.folder, doit.reporter)}
    groups = {"cpu", "ci", "nightly", "report"}
    assert len(results) == 41
    assert results["cpu"]["task_dep"][0] == "cpu:tools"
    assert set(results["cpu"]["task_dep"]) == results.keys() - groups - {"cpu.report"}
    assert results["report"]["task_dep"] == ["cpu.report"]
    for name, task in results.items():
        assert task["doc"]
        assert "\n" not in task["doc"]
        assert len(task["doc"]) < 80
        assert name in groups or name == "cpu:tools" or task["targets"]


def test_recipe_tasks_cover_a_matrix(recipes: Path, doit: Doit) -> None:
    text = "extends: cpu\nmatrix: {length: [exact, masked]}\n"
    (recipes / "lengths.yaml").write_text(text, encoding="utf-8")
    results = {t["basename"]: t for t in recipe_tasks(doit.folder, doit.reporter)}
    assert {"exact", "masked", "masked.compile.decoder-5120"} <= results.keys()
    assert "lengths" not in results
    assert set(results["nightly"]["task_dep"]) == {"cpu", "exact", "masked"}
    assert results["ci"]["task_dep"] == ["cpu"]


@pytest.mark.parametrize(
    ("name", "text", "task", "message"),
    [
        (
            "mine",
            "model: kokoro-82m\ntarget: {kind: llvm, mcpu: native}\nlenght: exact\n",
            "mine",
            "mine.yaml:3:1: ",
        ),
        ("mine", "model: [", "mine", "mine.yaml:1:8: not valid YAML"),
        ("My=one.x", "{}", "_y_one_x", "My=one.x.yaml: a recipe's file name becomes the name of its bundle"),
        ("checkpoint", WHOLE, "checkpoint", "checkpoint.yaml: the name checkpoint is taken"),
        ("nightly", WHOLE, "nightly", "nightly.yaml: the name nightly is taken"),
        ("report", WHOLE, "report", "report.yaml: the name report is taken"),
    ],
)
def test_broken_recipe_fails_alone(
    recipes: Path, doit: Doit, name: str, text: str, task: str, message: str
) -> None:
    (recipes / f"{name}.yaml").write_text(text, encoding="utf-8")

    def make(reporter: LineReporter) -> Any:
        return recipe_tasks(doit.folder, reporter)

    assert {"cpu", "cpu.speak", task} <= {t["basename"] for t in make(doit.reporter)}
    assert doit.run(make, task) != 0
    assert message in doit.err.getvalue()
    assert task not in doit.err.getvalue().partition(message)[0].rpartition("/")[2]
    assert isinstance(doit.reporter.failures[task], RecipeError)


def test_broken_model_recipe_fails(recipes: Path, doit: Doit) -> None:
    (recipes / "kokoro-82m.yaml").write_text("checkpoint: [\n", encoding="utf-8")
    status = doit.run(lambda reporter: recipe_tasks(doit.folder, reporter), "cpu")
    assert status != 0
    assert "kokoro-82m.yaml:" in doit.err.getvalue()


def test_recipe_tasks_need_recipes(tmp_path: Path, doit: Doit) -> None:
    with pytest.raises(RecipeError, match="there is no such folder of recipes"):
        list(recipe_tasks(tmp_path, doit.reporter))


LOOK = """
import io, sys
from pathlib import Path
from kokoro_tvm.builder.engine.reporter import LineReporter
from kokoro_tvm.builder.tasks import recipe_tasks
tasks = list(recipe_tasks(Path(sys.argv[1]), LineReporter(io.StringIO(), io.StringIO())))
states = [current() for task in tasks for current in task.get("uptodate", []) if callable(current)]
print(len(states), *sorted({"numpy", "torch", "transformers", "tvm", "tvm_ffi"} & sys.modules.keys()))
"""


def test_is_current_imports_no_slow_modules(tmp_path: Path) -> None:
    (tmp_path / "recipes").symlink_to(REPOSITORY / "recipes")
    command = [sys.executable, "-c", LOOK, str(tmp_path)]
    result = subprocess.run(
        command, cwd=REPOSITORY, capture_output=True, text=True, check=True
    ).stdout.split()
    assert int(result[0]) > 50
    assert result[1:] == []
