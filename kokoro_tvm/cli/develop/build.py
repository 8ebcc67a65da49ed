"""kokoro-tvm build: builds as doit does, with this program's exit statuses; or writes IR after every pass."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from kokoro_tvm.cli._output import RootOption

__all__ = ["build", "run_tasks"]


def build(
    targets: Annotated[
        list[str] | None,
        typer.Argument(
            help="Recipes (`cpu`), artifacts (`cpu/decoder-5120`) or any task of `doit list`.",
            show_default="cpu",
        ),
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option(
            "-n",
            "--jobs",
            min=1,
            help="Number of stages to run at the same time.",
            show_default="one more than the cores, at most 5",
        ),
    ] = None,
    dump_ir: Annotated[
        Path | None,
        typer.Option(
            "--dump-ir",
            metavar="DIR",
            help="Only write the IR of one artifact to this folder, after the import and every pass, "
            "as TVMScript.",
        ),
    ] = None,
    recipe: Annotated[
        str, typer.Option("--recipe", help="The recipe of an artifact that is given without one.")
    ] = "cpu",
    events: Annotated[
        Path | None,
        typer.Option("--events", metavar="FILE", help="Also append events to this file, as JSON lines."),
    ] = None,
    root: RootOption = Path(),
    paranoid: Annotated[
        bool,
        typer.Option("--paranoid", help="Read every file again, even if it looks unchanged."),
    ] = False,
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
            help="Build a recipe with another value (`buckets.frames=[512]`), under a name of its own.",
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
    """Build recipes, artifacts or single stages, and everything they need.

    Current stages are skipped, except those named by --force.
    """
    from kokoro_tvm.common.errors import InputError

    wanted = targets or force or ([] if dump_ir else [recipe])
    if force and (overrides or dump_ir is not None or scheduler is not None):
        raise InputError("--force works neither with --with nor with --dump-ir or --scheduler")
    if overrides:
        if len(wanted) != 1 or dump_ir is not None or scheduler is not None:
            raise InputError("--with takes one recipe, and neither --dump-ir nor --scheduler")
        _try(wanted[0], overrides, jobs, root, events, paranoid)
    elif dump_ir is None:
        tasks = [_task(word, recipe, root) for word in wanted]
        run_tasks(tasks, jobs, root, events, paranoid, scheduler, force=force or ())
    elif len(wanted) == 1:
        _dump(wanted[0], recipe, dump_ir, jobs, root, paranoid)
    else:
        raise InputError("--dump-ir takes one artifact: kokoro-tvm build --dump-ir DIR cpu/decoder-5120")


def run_tasks(
    tasks: list[str],
    jobs: int | None,
    root: Path,
    events: Path | None = None,
    paranoid: bool = False,
    scheduler: str | None = None,
    tried: tuple[str, Sequence[str]] | None = None,
    force: Sequence[str] = (),
) -> None:
    """Runs the tasks with doit. Exits with the status of the first error, which doit has printed.

    scheduler: address of the Dask cluster that builds them first; this machine then restores them; tried: a
    recipe and its overrides, whose tasks are the only ones; force: stages that run even if they are current.
    """
    from doit.cmd_base import ModuleTaskLoader
    from doit.doit_cmd import DoitMain

    from kokoro_tvm.builder.engine.events import EventLog
    from kokoro_tvm.builder.engine.reporter import make_reporter
    from kokoro_tvm.builder.tasks import doit_config, recipe_tasks
    from kokoro_tvm.common.errors import BuildError, KokoroTvmError

    reporter = make_reporter(EventLog(events) if events else None)
    known = list(recipe_tasks(root, reporter, paranoid, tried, force))
    _check(tasks, [task["basename"] for task in known])
    _check(force, [task["basename"] for task in known if "." in task["basename"]])
    if scheduler is not None:
        from kokoro_tvm.builder.cluster import build_on_cluster

        graph = {task["basename"]: task.get("task_dep", []) for task in known}
        build_on_cluster(scheduler, tasks, graph, root, reporter.report_remote)
    config = doit_config(reporter)
    loader = ModuleTaskLoader({"DOIT_CONFIG": config, "task_recipes": lambda: (task for task in known)})
    parallel = [] if jobs is None else ["-n", str(jobs)]
    status = DoitMain(loader, config_filenames=()).run(["run", *parallel, *tasks])
    if status != 0:
        first = next(iter(reporter.failures.values()), None)
        raise typer.Exit(first.exit_code if isinstance(first, KokoroTvmError) else BuildError.exit_code)


def _try(
    recipe: str, overrides: list[str], jobs: int | None, root: Path, events: Path | None, paranoid: bool
) -> None:
    """Builds a recipe with overrides beside the recipe's own bundle, and says where."""
    from kokoro_tvm.recipe import load_recipe, write_try

    name = load_recipe(recipe, root / "recipes", overrides=overrides).name
    write_try(root / "artifacts", recipe, overrides)
    typer.echo(
        f"{recipe} with {', '.join(overrides)} is built as {name}, in {root / 'artifacts' / name}. "
        f"No recipe has these values: to keep them, write one that extends {recipe}."
    )
    run_tasks([name], jobs, root, events, paranoid, tried=(recipe, overrides))


def _check(tasks: Sequence[str], known: list[str]) -> None:
    from kokoro_tvm.common.errors import RecipeError
    from kokoro_tvm.common.words import hint, nearest

    for task in tasks:
        if task not in known:
            recipes = [name for name in known if "." not in name]
            near = nearest(task, known)
            advice = hint(task, [near] if near else recipes)
            raise RecipeError(f"there is no task `{task}`{advice}")


def _task(word: str, recipe: str, root: Path) -> str:
    """The task that a word of the command line means."""
    from kokoro_tvm.builder.project import Project

    project = Project(root)
    recipes = project.recipes()
    if "/" not in word and ("." in word or word in recipes or recipe not in recipes):
        return word
    try:
        graph, spec = project.artifact(word, recipe)
    except LookupError:
        return word
    return graph.validate(spec).name


def _dump(word: str, recipe: str, folder: Path, jobs: int | None, root: Path, paranoid: bool) -> None:
    """Lowers one artifact again, outside the store, and writes the module after the import and every pass."""
    from tempfile import TemporaryDirectory

    from kokoro_tvm.builder.project import Project

    graph, spec = Project(root).artifact(word if "/" in word else f"{recipe}/{word}")
    lower = graph.lower(spec)
    run_tasks([stage.name for stage in lower.after], jobs, root, paranoid=paranoid)
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("[0-9][0-9]-*.py"):
        old.unlink()  # phases of another pass list
    with TemporaryDirectory() as aside:
        lower.call(
            Path(aside),
            folder / "lower.log",
            lambda elapsed: typer.echo(f"lowering, {elapsed:.0f} s"),
            dump_ir=str(folder.resolve()),
        )
    for path in sorted(folder.glob("[0-9][0-9]-*.py")):
        typer.echo(f"{path}  {path.stat().st_size:,} bytes")
