"""The stages as doit tasks: one for every stage, and one named after each recipe that stands for all of it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from doit.exceptions import TaskFailed

from kokoro_tvm.build.graph import RecipeGraph
from kokoro_tvm.build.reporter import LineReporter, say
from kokoro_tvm.build.stage import Stage
from kokoro_tvm.errors import KokoroTvmError, RecipeError
from kokoro_tvm.recipe import list_recipes, load_recipe

__all__ = ["doit_config", "recipe_tasks"]


def doit_config(artifacts: Path) -> dict[str, Any]:
    """Settings of doit: what is current is decided by our records, so its own database hardly matters."""
    artifacts.mkdir(parents=True, exist_ok=True)
    return {
        "default_tasks": ["cpu"],
        "continue": True,
        "reporter": LineReporter,
        "backend": "json",
        "dep_file": str(artifacts / ".doit.json"),
        "par_type": "thread",
        "verbosity": 2,
    }


def recipe_tasks(recipes: Path, artifacts: Path) -> Iterator[dict[str, Any]]:
    """Every task of every target recipe in the folder; a recipe that cannot be read is a task that says so."""
    seen: set[str] = set()
    for name in list_recipes(recipes):
        try:
            graph = RecipeGraph(load_recipe(name, recipes), artifacts.resolve(), recipes.resolve().parent)
        except RecipeError as error:
            yield _broken(name, error)
            continue
        for stage in graph.stages():
            if stage.name not in seen:  # recipes share their model's checkpoint and references
                seen.add(stage.name)
                yield _task(stage)
        yield {
            "basename": name,
            "doc": f"build, validate and bundle the recipe {name}",
            "actions": [(_tell, [artifacts / name])],
            "task_dep": [stage.name for stage in graph.stages()],
            # Always told, never counted as work.
            "uptodate": [False],
        }


def _task(stage: Stage) -> dict[str, Any]:
    return {
        "basename": stage.name,
        "doc": stage.doc,
        "actions": [(_run, [stage])],
        "task_dep": [s.name for s in stage.after],
        "targets": [str(stage.path(o)) for o in stage.outputs],
        "uptodate": [stage.is_current],
    }


def _broken(name: str, error: RecipeError) -> dict[str, Any]:
    return {
        "basename": name,
        "doc": "cannot be read: run it, or `kokoro-tvm recipe check`, to see why",
        "actions": [lambda: TaskFailed(str(error))],
    }


def _run(stage: Stage) -> Any:
    started = time.monotonic()
    try:
        stage.run(lambda elapsed: say(stage.name, f"still running, {elapsed:.0f} s"))
    except KokoroTvmError as error:
        return TaskFailed(str(error))
    say(stage.name, f"done in {time.monotonic() - started:.1f} s")
    return None


def _tell(folder: Path) -> None:
    LineReporter.conclusion.append(
        f"The bundle is {folder}, and it says hello in {folder / 'hello.wav'}.\n"
        f'Next: .venv/bin/kokoro-tvm say --bundle {folder} -o speech.wav "Anything you like."'
    )
