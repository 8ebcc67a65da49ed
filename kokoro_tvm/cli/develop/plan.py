"""kokoro-tvm plan: what a build would run, and how long that takes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kokoro_tvm.cli._output import JsonOption, RootOption, grid

if TYPE_CHECKING:
    from rich.table import Table

    from kokoro_tvm.builder.diagnostics.plan import PlanStep

__all__ = ["plan", "summary", "table"]


def plan(
    recipes: Annotated[list[str] | None, typer.Argument(help="Names of recipes.", show_default="cpu")] = None,
    jobs: Annotated[
        int, typer.Option("-n", "--jobs", min=1, help="Number of stages that would run at the same time.")
    ] = 1,
    json: JsonOption = False,
    root: RootOption = Path(),
) -> None:
    """Show what a build would run, and about how long that takes.

    Times are those of past runs on this machine, of the same stage or of a similar one of another recipe.
    """
    from kokoro_tvm.builder.diagnostics.plan import look_ahead
    from kokoro_tvm.builder.diagnostics.plan import to_json as step_to_json
    from kokoro_tvm.builder.project import Project
    from kokoro_tvm.cli._output import console, print_json
    from kokoro_tvm.cli.develop._cache import shared_cache

    project = Project.open(root, cache=shared_cache())
    graphs = [project.graph(name) for name in recipes or ["cpu"]]
    steps = look_ahead([stage for graph in graphs for stage in graph.stages()])
    if json:
        print_json([step_to_json(step) for step in steps])
        return
    out = console(markup=False)
    ahead = [step for step in steps if step.action != "nothing"]
    if ahead:
        out.print(table(ahead))
        out.print()
    for line in summary(steps, jobs):
        out.print(line, soft_wrap=True)


def table(steps: Sequence[PlanStep]) -> Table:
    """A line for every step."""
    from rich.text import Text

    made = grid()
    for step in steps:
        time = "" if step.action in ("restore", "fail") else _duration(step)
        made.add_row(Text(step.stage.name), step.action, time, Text(_why(step), "dim"))
    return made


def _duration(step: PlanStep) -> str:
    """`32 s`; of a stage that never ran `about 32 s, as cpu took`, or the stage of another bucket."""
    from kokoro_tvm.common.words import format_seconds

    if step.estimate is None:
        return "unknown"
    seconds, like = format_seconds(step.estimate.seconds), step.estimate.like
    if like is None:
        return seconds
    recipe, _, rest = like.partition(".")
    same = rest == step.stage.name.partition(".")[2]
    return f"about {seconds}, as {recipe if same else like} took"


def _why(step: PlanStep) -> str:
    from kokoro_tvm.builder.diagnostics.causes import cause

    if step.state.problem:
        return ""  # the summary has it, once for all stages
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


def summary(steps: Sequence[PlanStep], jobs: int) -> list[str]:
    """The totals, in sentences."""
    actions = ("run", "restore", "perhaps", "fail")
    run, restore, perhaps, fail = ([s for s in steps if s.action == a] for a in actions)
    if not (run or restore or perhaps or fail):
        return [f"Nothing to do: all {len(steps)} stages are current."]
    lines = [f"{_stages(len(run))} {'runs' if len(run) == 1 else 'run'}{_time(run, jobs)}."]
    if fail:
        lines.append(f"{_stages(len(fail))} cannot run here, nor can what comes after:")
        lines += dict.fromkeys(step.state.problem for step in fail)
    if restore:
        lines.append(
            f"{_stages(len(restore))} {'is' if len(restore) == 1 else 'are'} restored from the store."
        )
    if perhaps:
        both = _time([s for s in steps if s.action in ("run", "perhaps")], jobs)
        lines.append(
            f"{_stages(len(perhaps))} may have to run after that; all together{both.replace(', ', ' ', 1)}."
        )
    return lines


def _stages(count: int) -> str:
    return "1 stage" if count == 1 else f"{count} stages"


def _time(steps: Sequence[PlanStep], jobs: int) -> str:
    from kokoro_tvm.builder.diagnostics.plan import together
    from kokoro_tvm.common.words import format_seconds

    known = [s for s in steps if s.seconds is not None]
    unknown = len(steps) - len(known)
    if not steps:
        return ""
    if not known:
        return ", duration unknown: never built here"
    at_once = f" with {jobs} at once" if jobs > 1 else ""
    others = sum(s.estimate is not None and s.estimate.like is not None for s in known)
    source = f" ({others} estimated from other stages)" if others else ""
    more = f", and {unknown} of unknown duration" if unknown else ""
    return f", about {format_seconds(together(known, jobs))}{at_once}{source}{more}"
