"""kokoro-tvm plan: shows what a build would run, and how long that takes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kokoro_tvm.cli._output import JobsOption, JsonOption, RootOption, grid, note, spinner

if TYPE_CHECKING:
    from kokoro_tvm.builder.diagnostics.plan import PlanStep


def plan(
    recipes: Annotated[list[str] | None, typer.Argument(help="Names of recipes.", show_default="cpu")] = None,
    jobs: JobsOption = None,
    json: JsonOption = False,
    root: RootOption = Path(),
) -> None:
    """Show which stages a build would run, and for how long.

    A time is the median of a stage's last 5 runs on this machine. The time of the build is simulated with as
    many stages at a time as `build` and `doit` run.
    """
    from rich.text import Text

    from kokoro_tvm.builder.diagnostics.plan import plan_build
    from kokoro_tvm.builder.engine.cache import Cache
    from kokoro_tvm.builder.engine.resources import usable_processes
    from kokoro_tvm.builder.project import Project
    from kokoro_tvm.cli._output import console, print_json

    project = Project.open(root, cache=Cache.from_environment(note))
    with spinner("reading the store"):
        graphs = [project.graph(name) for name in recipes or ["cpu"]]
        steps = plan_build(stage for graph in graphs for stage in graph.stages())
    if json:
        print_json([step.to_json() for step in steps])
        return
    out = console(markup=False)
    table = grid()
    for step in steps:
        if step.action != "nothing":
            time = "" if step.action in ("restore", "fail") else _format_seconds(step.seconds)
            table.add_row(Text(step.stage.name), step.action, time, Text(_why(step), "dim"))
    if table.rows:
        out.print(table, "")
    for line in summarize(steps, jobs or usable_processes()):
        out.print(line, soft_wrap=True)


def _format_seconds(seconds: float | None) -> str:
    from kokoro_tvm.common.words import format_seconds

    return "unknown" if seconds is None else format_seconds(seconds)


def _why(step: PlanStep) -> str:
    """Return the first reason why a stage is not current, and how many more there are."""
    from kokoro_tvm.builder.diagnostics.causes import find_cause

    state = step.state
    if state.problem:
        return ""  # the summary has it, once for all stages
    reasons = [f"{find_cause(step.stage, change).what} changed" for change in state.changes]
    reasons = reasons or [f"{damage.path.name} is {state.kind}" for damage in state.damage]
    if reasons:
        return reasons[0] + (f", and {len(reasons) - 1} more" if len(reasons) > 1 else "")
    if step.action == "perhaps":
        count = len(step.because)
        return f"if {step.because[0]} changes" if count == 1 else f"if one of {count} changes"
    return "never built" if state.kind == "missing" else state.kind


def summarize(steps: Sequence[PlanStep], workers: int) -> list[str]:
    """Return the totals as sentences. workers: number of stages that run at the same time."""
    groups: dict[str, list[PlanStep]] = {action: [] for action in ("run", "restore", "perhaps", "fail")}
    for step in steps:
        groups.setdefault(step.action, []).append(step)
    run, restore, perhaps, fail = (groups[action] for action in ("run", "restore", "perhaps", "fail"))
    if not (run or restore or perhaps or fail):
        return [f"Nothing to do: all {len(steps)} stages are up to date."]
    lines = [f"{_stages(run, 'runs', 'run')}{_total(run, workers)}."]
    if fail:
        lines.append(f"{_stages(fail, 'cannot', 'cannot')} run here, and neither can what comes after:")
        lines += dict.fromkeys(step.state.problem for step in fail)
    if restore:
        lines.append(f"{_stages(restore, 'is', 'are')} restored from the store.")
    if perhaps:
        total = _total([*run, *perhaps], workers, " in all")
        lines.append(f"{_stages(perhaps, 'may', 'may')} have to run after that{total}.")
    return lines


def _stages(steps: Sequence[PlanStep], verb: str, plural: str) -> str:
    return f"1 stage {verb}" if len(steps) == 1 else f"{len(steps)} stages {plural}"


def _total(steps: Sequence[PlanStep], workers: int, scope: str = "") -> str:
    """Return the duration of steps as the end of a sentence: `, about 3 min 50 s with 2 at a time`."""
    from kokoro_tvm.builder.diagnostics.forecast import Forecast

    unknown = sum(step.seconds is None for step in steps)
    if not steps:
        return ""
    if unknown == len(steps):
        return ", duration unknown: never built here"
    seconds = _format_seconds(Forecast(steps, workers).seconds())
    return f", about {seconds}{scope} with {workers} at a time" + (
        f", and {unknown} of unknown duration" if unknown else ""
    )
