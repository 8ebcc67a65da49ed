"""kokoro-tvm tune: tries convolutions of a recipe on this machine and keeps what is faster than the rules."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from kokoro_tvm.cli._speech import ThreadsOption

if TYPE_CHECKING:
    from rich.table import Table

    from kokoro_tvm.ops._schedule import Choice
    from kokoro_tvm.recipe import Recipe
    from kokoro_tvm.target import Machine
    from kokoro_tvm.tuning.layers import Layer
    from kokoro_tvm.tuning.search import Outcome

__all__ = ["register"]

_WIDTH = 132  # where output goes to a file


def register(app: typer.Typer) -> None:
    """Adds the command `tune`."""
    app.command("tune")(tune)


def tune(
    recipe: Annotated[str, typer.Argument(help="Name of a recipe in the folder, or a file.")],
    minutes: Annotated[float, typer.Option("--minutes", min=0, help="No layer is begun after that.")] = 10.0,
    component: Annotated[
        Literal["bert", "duration", "text_encoder", "f0n", "decoder"],
        typer.Option("--component", help="Whose layers."),
    ] = "decoder",
    threads: ThreadsOption = None,
    recipes: Annotated[Path, typer.Option("--recipes", metavar="DIR", help="Folder of the recipes.")] = Path(
        "recipes"
    ),
) -> None:
    """Find out which tiles and filterings of a recipe's convolutions are fastest on this machine.

    What is right and faster than the rules is written to schedules/RECIPE.json in the recipe's folder.
    """
    from rich.console import Console

    from kokoro_tvm.errors import InputError
    from kokoro_tvm.recipe import find_recipe, load_recipe, schedule_path
    from kokoro_tvm.runtime.threads import choose_threads
    from kokoro_tvm.target import resolve

    told, path = load_recipe(recipe, recipes), schedule_path(find_recipe(recipe, recipes))
    machine = resolve(told.target.mcpu, told.target.mtriple, told.target.mattr, told.precision)
    _check_machine(told, machine)

    from kokoro_tvm.tuning.layers import layers_of

    layers = layers_of(told, component, machine)
    if not layers:
        raise InputError(
            f"{component} of {told.name} has no layer to tune: only convolutions that may lose a few bits "
            "have a choice, those of the decoder."
        )
    outcomes = _search(layers, machine, minutes * 60, choose_threads(threads))
    console = Console()
    if not console.is_terminal:
        console = Console(width=_WIDTH)
    console.print(_table(outcomes))
    console.print(_sums(outcomes, len(layers)), soft_wrap=True)
    before = path.read_bytes() if path.exists() else None
    _write(path, told, machine, component, outcomes)
    if (path.read_bytes() if path.exists() else None) == before:
        typer.echo(f"{path}: as it was" if before is not None else f"nothing is written to {path}")
    else:
        typer.echo(f"{path}: `doit {told.name}` builds {component} anew")


def _check_machine(recipe: Recipe, machine: Machine) -> None:
    from kokoro_tvm.cpu_features import features_of_cpu
    from kokoro_tvm.errors import BuildError

    there = features_of_cpu()
    missing = [name for name in machine.required if there is not None and name not in there]
    if missing:
        raise BuildError(
            f"{recipe.name}: this machine cannot run what it should measure, its CPU lacks "
            f"{', '.join(missing)}: tune on a machine of the recipe's target"
        )


def _search(layers: Sequence[Layer], machine: Machine, seconds: float, threads: int) -> list[Outcome]:
    import time

    from kokoro_tvm.runtime.pool import compute
    from kokoro_tvm.tuning.kernels import prepared
    from kokoro_tvm.tuning.search import search

    outcomes: list[Outcome] = []

    def all_of_them() -> None:
        for outcome in search(layers, prepared(machine), seconds, time.monotonic):
            outcomes.append(outcome)
            typer.echo(f"{len(outcomes)} of {len(layers)}: {_line(outcome)}", err=True)

    compute(threads, all_of_them)
    return outcomes


def _line(outcome: Outcome) -> str:
    return f"{outcome.layer.name}: {_shown(outcome.choice) if outcome.choice else 'the rule stays'}"


def _shown(choice: Choice) -> str:
    how = "direct" if choice.taps == choice.outputs == 1 else f"F({choice.outputs}, {choice.taps})"
    return f"{how}, {choice.tiles} tile{'' if choice.tiles == 1 else 's'}"


def _table(outcomes: Sequence[Outcome]) -> Table:
    from rich import box
    from rich.table import Table

    made = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    made.add_column("layer", no_wrap=True)
    made.add_column("calls", justify="right")
    made.add_column("rule")
    made.add_column("GFLOP/s", justify="right")
    made.add_column("tuned")
    made.add_column("GFLOP/s", justify="right")
    made.add_column("wrong", justify="right")
    for o in outcomes:
        flops = o.layer.flops / o.layer.count / 1e9
        made.add_row(
            o.layer.name,
            f"{o.layer.count}",
            _shown(o.rule),
            f"{flops / o.before:.1f}",
            _shown(o.choice) if o.choice is not None else "—",
            f"{flops / o.after:.1f}",
            f"{len(o.wrong)}",
        )
    return made


def _sums(outcomes: Sequence[Outcome], layers: int) -> str:
    before, after = (sum(getattr(o, what) * o.layer.count for o in outcomes) for what in ("before", "after"))
    change = f" ({after / before - 1:+.1%})" if before else ""
    left = layers - len(outcomes)
    reached = f" {left} of {layers} layers were not reached." if left else ""
    return f"Together: {before * 1e3:.1f} ms by the rules, {after * 1e3:.1f} ms tuned{change}.{reached}"


def _write(path: Path, recipe: Recipe, machine: Machine, component: str, outcomes: Sequence[Outcome]) -> None:
    """Layers that were not reached keep what they had."""
    from dataclasses import asdict

    from kokoro_tvm.recipe import LayerChoice, Tuned, write_schedule

    layers = dict(recipe.schedule.get(component, {}))
    for outcome in outcomes:
        layers.pop(outcome.layer.name, None)
        if outcome.choice is not None:
            layers[outcome.layer.name] = LayerChoice.model_validate(asdict(outcome.choice))
    target = Tuned(mtriple=machine.mtriple, mcpu=machine.mcpu, mattr=machine.mattr)
    write_schedule(path, target, {**recipe.schedule, component: layers})
