"""kokoro-tvm plan: what a build would run, and for how long."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kokoro_tvm.cli._output import JsonOption, RootOption, grid

if TYPE_CHECKING:
    from rich.table import Table

    from kokoro_tvm.telling.outlook import Step

__all__ = ["register", "summary", "table"]


def register(app: typer.Typer) -> None:
    """Adds the command `plan`."""
    app.command("plan")(plan)


def plan(
    recipes: Annotated[
        list[str] | None, typer.Argument(help="Recipes to plan for.", show_default="cpu")
    ] = None,
    jobs: Annotated[int, typer.Option("-n", "--jobs", min=1, help="How many stages would run at once.")] = 1,
    json: JsonOption = False,
    root: RootOption = Path(),
) -> None:
    """Show what a build would run, and for about how long.

    Times are those of past runs on this machine.
    """
    from kokoro_tvm.build.project import Project
    from kokoro_tvm.cli._output import open_console, print_json
    from kokoro_tvm.telling.outlook import look_ahead
    from kokoro_tvm.telling.outlook import to_json as step_to_json

    project = Project.open(root)
    graphs = [project.graph(name) for name in recipes or ["cpu"]]
    steps = look_ahead([stage for graph in graphs for stage in graph.stages()])
    if json:
        print_json([step_to_json(step) for step in steps])
        return
    console = open_console()
    ahead = [step for step in steps if step.action != "nothing"]
    if ahead:
        console.print(table(ahead))
        console.print()
    for line in summary(steps, jobs):
        console.print(line)


def table(steps: Sequence[Step]) -> Table:
    """A line for every step."""
    from rich.text import Text

    from kokoro_tvm.build.units import shown_seconds

    made = grid()
    for step in steps:
        known = "unknown" if step.seconds is None else shown_seconds(step.seconds)
        time = "" if step.action == "restore" else known
        made.add_row(Text(step.stage.name), step.action, time, Text(_why(step), "dim"))
    return made


def _why(step: Step) -> str:
    from kokoro_tvm.telling.naming import cause

    if step.state.changes:
        first, more = cause(step.stage, step.state.changes[0]).what, len(step.state.changes) - 1
        return f"{first} changed" + (f", and {more} more" if more else "")
    if step.state.damage:
        first_, more = step.state.damage[0], len(step.state.damage) - 1
        return f"{first_.path.name} is {step.state.kind}" + (f", and {more} more" if more else "")
    if step.action == "perhaps":
        return (
            f"if {step.because[0]} changes"
            if len(step.because) == 1
            else f"if one of {len(step.because)} changes"
        )
    return "never built" if step.state.kind == "missing" else step.state.kind


def summary(steps: Sequence[Step], jobs: int) -> list[str]:
    """What it comes to, in sentences."""
    run, restore, perhaps = ([s for s in steps if s.action == a] for a in ("run", "restore", "perhaps"))
    if not (run or restore or perhaps):
        return [f"Nothing to do: all {len(steps)} stages are current."]
    told = [f"{_stages(len(run))} {'runs' if len(run) == 1 else 'run'}{_time(run, jobs)}."]
    if restore:
        told.append(
            f"{_stages(len(restore))} {'is' if len(restore) == 1 else 'are'} restored from the store."
        )
    if perhaps:
        both = _time([s for s in steps if s.action in ("run", "perhaps")], jobs)
        told.append(
            f"{_stages(len(perhaps))} may have to run after that; all together{both.replace(', ', ' ', 1)}."
        )
    return told


def _stages(count: int) -> str:
    return "1 stage" if count == 1 else f"{count} stages"


def _time(steps: Sequence[Step], jobs: int) -> str:
    from kokoro_tvm.build.units import shown_seconds
    from kokoro_tvm.telling.outlook import together

    known = [s for s in steps if s.seconds is not None]
    unknown = len(steps) - len(known)
    if not steps:
        return ""
    if not known:
        return ", for how long is unknown: never built here"
    at_once = f" with {jobs} at once" if jobs > 1 else ""
    more = f", and {unknown} of unknown duration" if unknown else ""
    return f", about {shown_seconds(together(known, jobs))}{at_once}{more}"
