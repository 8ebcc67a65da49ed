"""kokoro-tvm build: builds as doit does, with this program's exit statuses, or writes IR after every pass."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from kokoro_tvm.cli._output import JobsOption, RootOption, is_quiet, is_verbose


def build(
    targets: Annotated[
        list[str] | None,
        typer.Argument(
            help="Recipes (`cpu`), artifacts (`cpu/decoder-5120`) or any task of `doit list`.",
            show_default="cpu",
        ),
    ] = None,
    jobs: JobsOption = None,
    dump_ir: Annotated[
        Path | None,
        typer.Option(
            "--dump-ir",
            metavar="DIR",
            help="Only write the IR of one artifact to this folder, after the import and every pass, "
            "as TVMScript.",
        ),
    ] = None,
    root: RootOption = Path(),
    force: Annotated[
        list[str] | None,
        typer.Option(
            "--force",
            metavar="STAGE",
            help="Run this stage again, even if it is current or in the store. May be repeated.",
        ),
    ] = None,
    overrides: Annotated[
        list[str] | None,
        typer.Option(
            "--with",
            metavar="FIELD=VALUE",
            help="Build a recipe with another value (`buckets.frames=[512]`), under a name of its own. May "
            "be repeated.",
        ),
    ] = None,
    scheduler: Annotated[
        str | None,
        typer.Option(
            "--scheduler",
            metavar="ADDRESS",
            help="Build on the workers of this Dask scheduler, through the shared cache.",
        ),
    ] = None,
) -> None:
    """Build recipes, artifacts or stages, and what they need.

    Current stages are skipped, except those named by --force. With KOKORO_TVM_EVENTS=FILE, events are
    appended to the file as JSON lines; with KOKORO_TVM_PARANOID=1, files are read again even if they look
    unchanged.
    """
    from kokoro_tvm.common.errors import InputError

    words = targets or force or ["cpu"]
    if force and (overrides or dump_ir is not None or scheduler is not None):
        raise InputError("--force works neither with --with nor with --dump-ir or --scheduler")
    if overrides:
        if len(words) != 1 or dump_ir is not None or scheduler is not None:
            raise InputError("--with takes one recipe, and neither --dump-ir nor --scheduler")
        _build_try(words[0], overrides, jobs, root)
    elif dump_ir is None:
        tasks = [_find_task(word, root) for word in words]
        run_tasks(tasks, jobs, root, scheduler, force=force or ())
    elif len(words) == 1 and "/" in words[0]:
        _dump_ir(words[0], dump_ir, jobs, root)
    else:
        raise InputError("--dump-ir takes one artifact: kokoro-tvm build --dump-ir DIR cpu/decoder-5120")


def run_tasks(
    tasks: list[str],
    jobs: int | None,
    root: Path,
    scheduler: str | None = None,
    override_build: tuple[str, Sequence[str]] | None = None,
    force: Sequence[str] = (),
) -> None:
    """Run tasks with doit, and exit with the status of the first error, which doit prints.

    Args:
        tasks: Names of tasks.
        jobs: Number of stages that run at the same time; None: as `doit` chooses.
        root: Folder with `recipes/` and `artifacts/`.
        scheduler: Address of a Dask cluster that builds the tasks first; this machine then restores them.
        override_build: A recipe and its overrides, whose tasks are the only ones.
        force: Stages that run even if they are current.
    """
    from doit.cmd_base import ModuleTaskLoader
    from doit.doit_cmd import DoitMain

    from kokoro_tvm.builder.engine.reporter import make_reporter
    from kokoro_tvm.builder.tasks import doit_config, recipe_tasks

    reporter = make_reporter(quiet=is_quiet(), verbose=is_verbose())
    graph = list(recipe_tasks(root, reporter, override_build=override_build, force=force))
    names = [task["basename"] for task in graph]
    _check_names(tasks, names)
    _check_names(force, [name for name in names if "." in name])
    if scheduler is not None:
        from kokoro_tvm.builder.cluster import build_on_cluster

        dependencies = {task["basename"]: task.get("task_dep", []) for task in graph}
        build_on_cluster(scheduler, tasks, dependencies, root, reporter.report_remote)
    config = doit_config(reporter)
    loader = ModuleTaskLoader({"DOIT_CONFIG": config, "task_recipes": lambda: (task for task in graph)})
    reporter.workers = jobs or reporter.workers
    words = ["run", "-n", str(reporter.workers), *tasks]
    if status := reporter.exit_status(DoitMain(loader, config_filenames=()).run(words)):
        raise typer.Exit(status)


def _build_try(recipe: str, overrides: list[str], jobs: int | None, root: Path) -> None:
    """Build a recipe with overrides beside the recipe's own bundle, and say where."""
    from kokoro_tvm.recipe import load_recipe, write_try

    name = load_recipe(recipe, root / "recipes", overrides=overrides).name
    write_try(root / "artifacts", recipe, overrides)
    typer.echo(
        f"{recipe} with {', '.join(overrides)} is built as {name}, in {root / 'artifacts' / name}. "
        f"No recipe has these values: to keep them, write one that extends {recipe}."
    )
    run_tasks([name], jobs, root, override_build=(recipe, overrides))


def _check_names(tasks: Sequence[str], valid: list[str]) -> None:
    """Raise RecipeError for a name that no task has."""
    from kokoro_tvm.builder.tasks import no_such_task

    for task in tasks:
        if task not in valid:
            raise no_such_task(task, valid)


def _find_task(word: str, root: Path) -> str:
    """Return the task that validates an artifact; any other word is the name of a task."""
    from kokoro_tvm.builder.project import Project

    if "/" not in word:
        return word
    graph, spec = Project(root).artifact(word)
    return graph.validate(spec).name


def _dump_ir(word: str, folder: Path, jobs: int | None, root: Path) -> None:
    """Lower one artifact outside the store, and write its module after the import and every pass to a folder.

    Stages before it are built if they are not current; modules of an earlier dump are deleted.
    """
    from tempfile import TemporaryDirectory

    from kokoro_tvm.builder.project import Project

    graph, spec = Project(root).artifact(word)
    lower = graph.lower(spec)
    run_tasks([stage.name for stage in lower.after], jobs, root)
    folder.mkdir(parents=True, exist_ok=True)
    for path in folder.glob("[0-9][0-9]-*.py"):
        path.unlink()  # phases of another pass list
    with TemporaryDirectory() as temporary:
        lower.call(
            Path(temporary),
            folder / "lower.log",
            lambda elapsed: typer.echo(f"lowering, {elapsed:.0f} s"),
            dump_ir=str(folder.resolve()),
        )
    for path in sorted(folder.glob("[0-9][0-9]-*.py")):
        typer.echo(f"{path}  {path.stat().st_size:,} bytes")
