"""Tasks of doit: one for every stage, recipe and set of recipes, and one for the pages about all bundles."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from doit.exceptions import TaskFailed

from kokoro_tvm.builder.diagnostics.forecast import Forecast
from kokoro_tvm.builder.diagnostics.plan import plan_build
from kokoro_tvm.builder.engine.cache import Cache
from kokoro_tvm.builder.engine.memory import Memory, use_memory
from kokoro_tvm.builder.engine.reporter import LineReporter, make_reporter
from kokoro_tvm.builder.engine.resources import Budget, usable_processes
from kokoro_tvm.builder.engine.stage import Stage
from kokoro_tvm.builder.graph import RecipeGraph
from kokoro_tvm.builder.names import DOCS, REPORT, SETS
from kokoro_tvm.builder.needs import require_tools
from kokoro_tvm.builder.project import Project
from kokoro_tvm.common.errors import BuildError, KokoroTvmError, RecipeError
from kokoro_tvm.common.invocation import program
from kokoro_tvm.common.packages import advice, list_missing_packages
from kokoro_tvm.common.platforms import detect_platform
from kokoro_tvm.common.words import hint, nearest, shorten_path
from kokoro_tvm.recipe import Recipe
from kokoro_tvm.targets import target_kind, tools_for


def doit_config(reporter: LineReporter | None = None) -> dict[str, Any]:
    """Return the settings of doit. Its database stays empty: the store's records decide what is current.

    Without a `reporter`, doit's own reports.
    """
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
    override_build: tuple[str, Sequence[str]] | None = None,
    force: Collection[str] = (),
) -> Iterator[dict[str, Any]]:
    """Yield the tasks of all target recipes in `root`/recipes.

    A recipe that cannot be read becomes a task that fails with the error, in every set. The reporter gets its
    `plan`, and this process the cached facts about code and tools, which are saved at exit.

    Args:
        root: Folder of recipes/ and artifacts/.
        reporter: Receives errors, notes and conclusions.
        override_build: A recipe and its overrides, FIELD=VALUE: only its tasks, under a name of its own.
        force: Stages that run even if they are up to date, as all do with `doit -a`.

    Raises:
        RecipeError: There is no recipe.
        InputError: KOKORO_TVM_CACHE names no usable cache.
    """
    names: set[str] = set()
    graphs: list[RecipeGraph] = []
    broken: list[str] = []
    paranoid = os.environ.get("KOKORO_TVM_PARANOID") == "1"
    budget, cache = Budget(), Cache.from_environment(reporter.notes.append)
    project = Project(root, paranoid, cache)
    use_memory(Memory(project.store.root / "learned.json", trust=not paranoid))
    for name, overrides in [override_build] if override_build else [(name, ()) for name in project.recipes()]:
        try:
            graph = project.graph(name, overrides)
        except RecipeError as error:
            task = _failing_task(name, error, reporter)
            broken.append(task["basename"])
            yield task
            continue
        graphs.append(graph)
        stages = graph.stages()
        tools = f"{graph.recipe.name}:tools"
        yield _tools_task(tools, graph.recipe, reporter)
        for stage in (*stages, graph.report):
            if stage.name not in names:  # recipes share their model's checkpoint and references
                names.add(stage.name)
                is_shared = not stage.name.startswith(f"{graph.recipe.name}.")
                yield _task(stage, reporter, budget, () if is_shared else (tools,), stage.name in force)
        yield _plain_task(
            graph.recipe.name,
            f"build, validate and bundle the recipe {graph.recipe.name}",
            partial(_conclude, reporter, graph),
            [tools, *(stage.name for stage in stages)],
        )
    stages_by_name = {stage.name: stage for graph in graphs for stage in (*graph.stages(), graph.report)}
    reporter.plan = lambda names: Forecast(
        plan_build(stages_by_name[name] for name in names if name in stages_by_name), reporter.workers, budget
    )
    yield from _set_tasks([graph.recipe for graph in graphs], broken, reporter)
    if REPORT not in broken:  # a recipe of that name is an error
        yield _report_task(graphs, reporter)
    if (root / "docs" / "conf.py").is_file() and DOCS not in broken:
        action = _record_errors(DOCS, partial(_build_docs, root, reporter), reporter)
        yield _plain_task(DOCS, "build the site of the documentation", action)


def no_such_task(word: str, tasks: Iterable[str]) -> RecipeError:
    """Return the error that names the nearest task, or the recipes and sets if none is near.

    word: a task, or the path of a file to build.
    """
    if "/" in word:
        return RecipeError(f"no stage writes {shorten_path(Path(word))}; `doit list` shows every task")
    near = nearest(word, tasks)
    choices = [near] if near else [name for name in tasks if not {".", ":"} & {*name}]
    return RecipeError(f"there is no task `{word}`{hint(word, choices)}")


def _plain_task(
    name: str, doc: str, action: Callable[[], Any] | None, task_dep: Sequence[str] = ()
) -> dict[str, Any]:
    """Return a task that always runs and does not count as a stage."""
    return {
        "basename": name,
        "doc": doc,
        "actions": [action] if action else None,
        # doit captures output by replacing sys.stdout for all threads; stages have logs of their own.
        "io": {"capture": False},
        "task_dep": list(task_dep),
        "uptodate": [False],
    }


def _task(
    stage: Stage, reporter: LineReporter, budget: Budget, first: Sequence[str] = (), force: bool = False
) -> dict[str, Any]:
    """Return the task of a stage.

    Args:
        stage: The stage.
        reporter: Receives errors and progress.
        budget: Memory and cores that running stages share.
        first: Tasks that run before it, besides those of `stage.after`.
        force: Run it even if it is up to date.
    """

    def build() -> None:
        """Build the stage once its needs are free."""
        with budget.take(stage.needs):
            manner = stage.run(
                lambda elapsed: reporter.beat(stage.name, stage.log_path), force or reporter.always
            )
        if manner == "restored":
            reporter.mark_restored(stage.name)

    build_task = _plain_task(stage.name, stage.doc, _record_errors(stage.name, build, reporter))
    return build_task | {
        "task_dep": [*first, *(s.name for s in stage.after)],
        "targets": [str(stage.path(o)) for o in stage.outputs],
        "clean": True,  # `doit clean` removes the targets
        "uptodate": [False if force else stage.is_current],
        "meta": {"log": str(stage.log_path)},
    }


def _record_errors(task: str, action: Callable[[], None], reporter: LineReporter) -> Callable[[], Any]:
    """Return an action of doit that records the error of a task and fails."""

    def run() -> Any:
        """Call the action; record an error and return it to doit."""
        try:
            action()
        except KokoroTvmError as error:
            reporter.record_error(task, error)
            return TaskFailed(str(error))
        return None

    return run


def _tools_task(name: str, recipe: Recipe, reporter: LineReporter) -> dict[str, Any]:
    """Return a task that fails if a program is missing, before any stage of the recipe runs."""
    action = _record_errors(name, lambda: require_tools(recipe), reporter)
    return _plain_task(name, f"check the programs that {recipe.name} needs", action)


def _failing_task(name: str, error: RecipeError, reporter: LineReporter) -> dict[str, Any]:
    """Return a task that fails with the error of a recipe that cannot be read."""
    task = re.sub(r"[^a-z0-9_-]", "_", name)  # the error may be in the name

    def fail() -> None:
        raise error

    doc = "cannot be read: run it, or `kokoro-tvm recipe check`, to see why"
    return _plain_task(task, doc, _record_errors(task, fail, reporter))


def _report_task(graphs: list[RecipeGraph], reporter: LineReporter) -> dict[str, Any]:
    """Return the task of the pages of all bundles that exist, or of the first recipe if there is none."""
    built = [g for g in graphs if (g.bundle_folder / "bundle.json").is_file()] or graphs[:1]

    def conclude() -> None:
        """Name the pages after the build."""
        pages = [shorten_path(g.report.path("report.html")) for g in built]
        reporter.conclusion.extend(f"The report is {page}; open it in a browser." for page in pages)

    names = [g.report.name for g in built]
    return _plain_task(REPORT, "write a page about every bundle that is built", conclude, names)


def _build_docs(root: Path, reporter: LineReporter) -> None:
    """Build the site in artifacts/docs with Sphinx, and name it after the build.

    Raises BuildError with Sphinx's warnings, or if a package is missing.
    """
    if lacking := list_missing_packages("docs"):
        raise BuildError(f"{DOCS}: {', '.join(lacking)} not installed: `{advice(lacking)}`")
    site = root / "artifacts" / DOCS
    command = [sys.executable, "-m", "sphinx", "-W", "-q", "-b", "html", "docs", str(site.absolute())]
    sphinx = subprocess.run(command, cwd=root, capture_output=True, text=True)
    if sphinx.returncode != 0:
        raise BuildError(f"{DOCS}: Sphinx failed: {sphinx.stderr.strip()}")
    reporter.conclusion.append(f"The site is {shorten_path(site)}; open its index.html in a browser.")


def _set_tasks(recipes: list[Recipe], broken: list[str], reporter: LineReporter) -> Iterator[dict[str, Any]]:
    """Yield a task for every set, and one in place of each recipe whose CPU features this machine lacks.

    That one only adds a note. A set also runs the tasks of `broken`, which fail.
    """
    lacking = {
        recipe.name: tools_for(recipe.target).list_lacking_features(recipe.precision) for recipe in recipes
    }
    skipped = {name: features for name, features in lacking.items() if features}
    for name, features in skipped.items():
        note = f"{name}: not run, because this CPU lacks {', '.join(features)}."
        action = partial(reporter.notes.append, note)
        yield _plain_task(_placeholder_name(name), f"say that {name} was left out", action)
    for word in (word for word in SETS if word not in broken):  # a recipe of that name is an error
        names = [recipe.name for recipe in recipes if word in recipe.sets]
        yield _plain_task(
            word,
            f"build every recipe of the set {word} that this machine can run",
            None,
            [*(_placeholder_name(name) if name in skipped else name for name in names), *broken],
        )


def _placeholder_name(recipe: str) -> str:
    """Return the name of the task in place of a recipe that this machine cannot run."""
    return f"{recipe}.not-here"  # no recipe can have the name


def _conclude(reporter: LineReporter, graph: RecipeGraph) -> None:
    """Name the bundle and the command that uses it after the build."""
    reporter.conclusion.append(conclusion(graph))


def conclusion(graph: RecipeGraph) -> str:
    """Return the two last lines of a build: where the bundle is, and the command that uses it."""
    bundle = shorten_path(graph.bundle_folder)
    hello = f", and it says hello in {bundle / 'hello.wav'}" if graph.is_run else ""
    return f"The bundle is {bundle}{hello}.\nNext: {_next_command(graph, bundle)}"


def _next_command(graph: RecipeGraph, bundle: Path) -> str:
    """Return the command that uses a bundle: speech, a site, a package, or a copy to another machine."""
    target, command = graph.recipe.target, program("kokoro-tvm")
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
