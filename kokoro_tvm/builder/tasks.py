"""The stages as doit tasks: one for every stage, one for each recipe and one for each set of recipes; and one
for the pages about all bundles."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Collection, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import doit.control
import doit.runner
from doit.exceptions import TaskFailed

from kokoro_tvm.builder.engine.cache import Cache
from kokoro_tvm.builder.engine.memory import Memory, keep_learned
from kokoro_tvm.builder.engine.reporter import LineReporter, make_reporter
from kokoro_tvm.builder.engine.resources import Budget, usable_processes
from kokoro_tvm.builder.engine.stage import Stage
from kokoro_tvm.builder.graph import RecipeGraph
from kokoro_tvm.builder.names import REPORT, SETS
from kokoro_tvm.builder.needs import require_tools
from kokoro_tvm.builder.project import Project
from kokoro_tvm.common.errors import KokoroTvmError, RecipeError
from kokoro_tvm.common.platforms import detect_platform
from kokoro_tvm.common.words import shorten_path
from kokoro_tvm.recipe import Recipe
from kokoro_tvm.targets import target_kind, tools_for

__all__ = ["conclusion", "doit_config", "recipe_tasks"]


# doit captures output by putting another sys.stdout under all threads; stages have logs of their own.
_AS_IT_IS = {"capture": False}


def doit_config(reporter: LineReporter | None = None) -> dict[str, Any]:
    """Settings of doit: what is current is decided by our records, so its own database is kept nowhere."""
    doit.control.ExecNode = _OrderedNode
    doit.runner.Runner.run_all = _run_all
    return {
        "default_tasks": ["cpu"],
        "continue": True,
        "reporter": reporter or make_reporter(),
        "backend": "sqlite3",
        "dep_file": ":memory:",
        "par_type": "thread",
        "num_process": usable_processes(),
        "verbosity": 0,
    }


def recipe_tasks(
    root: Path,
    reporter: LineReporter,
    paranoid: bool = False,
    tried: tuple[str, Sequence[str]] | None = None,
    force: Collection[str] = (),
) -> Iterator[dict[str, Any]]:
    """Every task of every target recipe in `root`/recipes, and the sets; a recipe that cannot be read is a
    task that says so, and in every set.

    paranoid (or KOKORO_TVM_PARANOID=1): whether files are read again even if they look unchanged; tried: a
    recipe and its overrides, FIELD=VALUE, whose tasks are made alone, under a name of their own; force:
    stages that run even if they are current or in the store, as all do with `doit -a`. Raises
    RecipeError where there is no folder or no recipe in it, InputError for a cache that cannot be.
    """
    seen: set[str] = set()
    graphs: list[RecipeGraph] = []
    broken: list[str] = []
    paranoid = paranoid or os.environ.get("KOKORO_TVM_PARANOID") == "1"
    budget, cache = Budget(), Cache.from_environment(reporter.notes.append)
    project = Project(root, paranoid, cache)
    keep_learned(Memory(project.store.root / "learned.json", trust=not paranoid))
    for name, overrides in [tried] if tried else [(name, ()) for name in project.recipes()]:
        try:
            graph = project.graph(name, overrides)
        except RecipeError as error:
            task = _broken(name, error, reporter)
            broken.append(task["basename"])
            yield task
            continue
        graphs.append(graph)
        stages = graph.stages()
        tools = f"{graph.recipe.name}:tools"
        yield _tools(tools, graph.recipe, reporter)
        for stage in (*stages, graph.report):
            if stage.name not in seen:  # recipes share their model's checkpoint and references
                seen.add(stage.name)
                is_shared = not stage.name.startswith(f"{graph.recipe.name}.")
                yield _task(stage, reporter, budget, () if is_shared else (tools,), stage.name in force)
        yield {
            "basename": graph.recipe.name,
            "doc": f"build, validate and bundle the recipe {graph.recipe.name}",
            "actions": [partial(_conclude, reporter, graph)],
            "io": _AS_IT_IS,
            "task_dep": [tools, *(stage.name for stage in stages)],
            # Always run, never counted as work.
            "uptodate": [False],
        }
    yield from _sets([graph.recipe for graph in graphs], broken, reporter)
    if REPORT not in broken:  # a recipe of that name says that it is taken
        yield _pages(graphs, reporter)


def _pages(graphs: list[RecipeGraph], reporter: LineReporter) -> dict[str, Any]:
    """The pages of all bundles that have been built, or, before there is any, of the first recipe's."""
    built = [g for g in graphs if (g.bundle_folder / "bundle.json").is_file()] or graphs[:1]

    def conclude() -> None:
        pages = [shorten_path(g.report.path("report.html")) for g in built]
        reporter.conclusion.extend(f"The report is {page}; open it in a browser." for page in pages)

    return {
        "basename": REPORT,
        "doc": "write a page about every bundle that is built",
        "actions": [conclude],
        "io": _AS_IT_IS,
        "task_dep": [g.report.name for g in built],
        "uptodate": [False],
    }


def _sets(recipes: list[Recipe], broken: list[str], reporter: LineReporter) -> Iterator[dict[str, Any]]:
    """A task for every set, and for every recipe that this machine leaves out of them one that says so."""
    lacking = {recipe.name: tools_for(recipe.target).lacking(recipe.precision) for recipe in recipes}
    left_out = {name: missing for name, missing in lacking.items() if missing}
    for name, missing in left_out.items():
        note = f"{name}: not run, because this CPU lacks {', '.join(missing)}."
        yield {
            "basename": _not_here(name),
            "doc": f"say that {name} was left out",
            "actions": [partial(reporter.notes.append, note)],
            "io": _AS_IT_IS,
            "uptodate": [False],
        }
    for word in (word for word in SETS if word not in broken):  # a recipe of that name says that it is taken
        names = [recipe.name for recipe in recipes if word in recipe.sets]
        yield {
            "basename": word,
            "doc": f"build every recipe of the set {word} that this machine can run",
            "actions": None,
            "task_dep": [*(_not_here(name) if name in left_out else name for name in names), *broken],
        }


def _not_here(recipe: str) -> str:
    return f"{recipe}.not-here"  # no recipe can have the name


def _tools(name: str, recipe: Recipe, reporter: LineReporter) -> dict[str, Any]:
    """A task that fails if a program is missing that a stage of the recipe calls, before any of them runs."""

    def check() -> Any:
        try:
            require_tools(recipe)
        except KokoroTvmError as error:
            reporter.failed(name, error)
            return TaskFailed(str(error))
        return None

    return {
        "basename": name,
        "doc": f"check the programs that {recipe.name} needs",
        "actions": [check],
        "io": _AS_IT_IS,
        "uptodate": [False],
    }


def _task(
    stage: Stage, reporter: LineReporter, budget: Budget, first: Sequence[str] = (), force: bool = False
) -> dict[str, Any]:
    def build() -> Any:
        try:
            with budget.take(stage.needs):
                manner = stage.run(
                    lambda elapsed: reporter.beat(stage.name, stage.log_path), force or reporter.always
                )
            if manner == "restored":
                reporter.restored(stage.name)
        except KokoroTvmError as error:
            reporter.failed(stage.name, error)
            return TaskFailed(str(error))
        return None

    return {
        "basename": stage.name,
        "doc": stage.doc,
        "actions": [build],
        "io": _AS_IT_IS,
        "task_dep": [*first, *(s.name for s in stage.after)],
        "targets": [str(stage.path(o)) for o in stage.outputs],
        "clean": True,  # `doit clean` removes the targets
        "uptodate": [False if force else stage.is_current],
        "meta": {"log": str(stage.log_path)},
    }


def _broken(name: str, error: RecipeError, reporter: LineReporter) -> dict[str, Any]:
    task = re.sub(r"[^a-z0-9_-]", "_", name)  # what is wrong may be the name

    def fail() -> Any:
        reporter.failed(task, error)
        return TaskFailed(str(error))

    doc = "cannot be read: run it, or `kokoro-tvm recipe check`, to see why"
    return {"basename": task, "doc": doc, "actions": [fail], "io": _AS_IT_IS}


_doit_run_all = doit.runner.Runner.run_all


def _run_all(runner: Any, dispatcher: Any) -> Any:
    """Tell the reporter, which every action has, of `doit -a`."""
    runner.reporter.always = runner.always_execute
    return _doit_run_all(runner, dispatcher)


class _OrderedNode(doit.control.ExecNode):
    """A task in doit's queue; those that waited for it go on in the graph's order, not in that of a set.

    Side by side, the longest compile then starts first, and is not what all wait for at the end.
    """

    def __init__(self, task: Any, parent: Any) -> None:
        super().__init__(task, parent)
        self.waiting_me = _OrderedSet()


class _OrderedSet(dict[Any, None]):
    def add(self, item: Any) -> None:
        self.setdefault(item)


def _conclude(reporter: LineReporter, graph: RecipeGraph) -> None:
    reporter.conclusion.append(conclusion(graph, Path(sys.executable).with_name("kokoro-tvm")))


def conclusion(graph: RecipeGraph, command: Path) -> str:
    """What a build ends with, in two lines: where the bundle is, and what to do with it.

    command: the program `kokoro-tvm`.
    """
    bundle = shorten_path(graph.bundle_folder)
    hello = f", and it says hello in {bundle / 'hello.wav'}" if graph.is_run else ""
    return f"The bundle is {bundle}{hello}.\nNext: {_next(graph, bundle, str(shorten_path(command)))}"


def _next(graph: RecipeGraph, bundle: Path, command: str) -> str:
    target = graph.recipe.target
    kind = target_kind(target.kind)
    if kind.is_for_browsers(target):
        return f"{command} web {f'--gpu {bundle}' if kind.has_kernels else bundle} -o site"
    say = f'say --bundle {bundle} -o speech.wav "Anything you like."'
    platform = kind.platform(target)
    if platform == detect_platform():
        return f"{command} {say}"
    if platform.system == "ios":
        return f"{command} package {graph.recipe.name}"
    return f"copy {bundle} to a machine with {platform}, and there: kokoro-tvm {say}"
