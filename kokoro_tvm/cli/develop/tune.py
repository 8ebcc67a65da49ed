"""kokoro-tvm tune: measures convolutions, and records the schedules that are faster than the rules."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kokoro_tvm.cli import _output
from kokoro_tvm.cli._speech import ThreadsOption

if TYPE_CHECKING:
    from rich.table import Table

    from kokoro_tvm.kernels.base.schedule import ConvChoice
    from kokoro_tvm.recipe import Recipe
    from kokoro_tvm.targets import Machine
    from kokoro_tvm.tools.lab.tuning.layers import TunedLayer
    from kokoro_tvm.tools.lab.tuning.search import TuningResult

__all__ = ["tune"]

_COMPONENT = "decoder"  # no convolution elsewhere tolerates the rounding of other schedules


def tune(
    recipe: Annotated[str, typer.Argument(help="Name of a recipe in the folder, or a file.")],
    minutes: Annotated[
        float,
        typer.Option(
            "--minutes",
            min=0,
            help="Minutes to search. No layer is started after them. The slowest layers come first.",
        ),
    ] = 10.0,
    threads: ThreadsOption = None,
    recipes: Annotated[Path, typer.Option("--recipes", metavar="DIR", help="Folder of the recipes.")] = Path(
        "recipes"
    ),
) -> None:
    """Find the fastest schedules of convolutions on this machine.

    The convolutions are those of the recipe's decoder. Schedules (tiles and filterings) that are correct and
    faster than the rules are written to a file in schedules/ beside the recipe, for all CPUs with the same
    features.
    """
    from kokoro_tvm.common.errors import InputError
    from kokoro_tvm.recipe import read_recipe, schedule_path
    from kokoro_tvm.runtime.threads import choose_threads
    from kokoro_tvm.targets import resolve

    source = read_recipe(recipe, recipes)
    loaded = source.recipe
    machine = resolve(loaded.target, loaded.precision)
    _check_machine(loaded, machine)

    from kokoro_tvm.tools.lab.tuning.layers import layers_of

    layers = layers_of(loaded, _COMPONENT, machine)
    if not layers:
        raise InputError(f"The {_COMPONENT} of {loaded.name} has no layer to tune.")
    path = schedule_path(source.path.parent, machine.options["mcpu"], machine.required)
    outcomes = _search(layers, machine, minutes * 60, choose_threads(threads))
    console = _output.console()
    console.print(_table(outcomes))
    console.print(_summarize(outcomes, len(layers)), soft_wrap=True)
    before = path.read_bytes() if path.exists() else None
    _write(path, loaded, machine, outcomes)
    if (path.read_bytes() if path.exists() else None) == before:
        typer.echo(f"{path} is unchanged" if before is not None else f"nothing is written to {path}")
    else:
        typer.echo(f"{path}: `doit {loaded.name}` builds {_COMPONENT} again, as every recipe for such CPUs")


def _check_machine(recipe: Recipe, machine: Machine) -> None:
    from kokoro_tvm.common.cpu_features import features_of_cpu
    from kokoro_tvm.common.errors import BuildError

    features = features_of_cpu()
    missing = [name for name in machine.required if features is not None and name not in features]
    if missing:
        raise BuildError(
            f"{recipe.name}: this machine cannot run the recipe's code, because its CPU "
            f"lacks {', '.join(missing)}. Tune on a machine of the recipe's target"
        )


def _search(
    layers: Sequence[TunedLayer], machine: Machine, seconds: float, threads: int
) -> list[TuningResult]:
    import time

    from kokoro_tvm.runtime.session.pool import compute
    from kokoro_tvm.tools.lab.tuning.kernels import prepared
    from kokoro_tvm.tools.lab.tuning.search import search

    outcomes: list[TuningResult] = []

    def search_layers() -> None:
        for outcome in search(layers, prepared(machine), seconds, time.monotonic):
            outcomes.append(outcome)
            typer.echo(f"{len(outcomes)} of {len(layers)}: {_line(outcome)}", err=True)

    compute(threads, search_layers)
    return outcomes


def _line(outcome: TuningResult) -> str:
    return f"{outcome.layer.name}: {_format(outcome.choice) if outcome.choice else 'the rule stays'}"


def _format(choice: ConvChoice) -> str:
    how = "direct" if choice.taps == choice.outputs == 1 else f"F({choice.outputs}, {choice.taps})"
    return f"{how}, {choice.tiles} tile{'' if choice.tiles == 1 else 's'}"


def _table(outcomes: Sequence[TuningResult]) -> Table:
    rows = _output.table("layer", ("calls", "rule", "GFLOP/s", "tuned", "GFLOP/s", "wrong"))
    for o in outcomes:
        flops = o.layer.flops / o.layer.count / 1e9
        rows.add_row(
            o.layer.name,
            f"{o.layer.count}",
            _format(o.rule),
            f"{flops / o.before:.1f}",
            _format(o.choice) if o.choice is not None else "—",
            f"{flops / o.after:.1f}",
            f"{len(o.wrong)}",
        )
    return rows


def _summarize(outcomes: Sequence[TuningResult], layers: int) -> str:
    before, after = (sum(getattr(o, what) * o.layer.count for o in outcomes) for what in ("before", "after"))
    change = f" ({after / before - 1:+.1%})" if before else ""
    left = layers - len(outcomes)
    reached = f" {left} of {layers} layers were not reached." if left else ""
    return f"Together: {before * 1e3:.1f} ms by the rules, {after * 1e3:.1f} ms tuned{change}.{reached}"


def _write(path: Path, recipe: Recipe, machine: Machine, outcomes: Sequence[TuningResult]) -> None:
    """Write the schedule. Layers that were not reached, and those of other precisions, keep theirs."""
    from dataclasses import asdict

    from kokoro_tvm.builder.diagnostics.hardware import describe_machine
    from kokoro_tvm.recipe import LayerChoice, Schedule, write_schedule

    before = next((s for s in recipe.schedules if s.is_for(machine.required)), None)
    components = {str(name): layers for name, layers in before.components.items()} if before else {}
    layers = dict(components.get(_COMPONENT, {}))
    for outcome in outcomes:
        layers.pop(outcome.layer.name, None)
        if outcome.choice is not None:
            layers[outcome.layer.name] = LayerChoice.model_validate(asdict(outcome.choice))
    schedule = {
        "features": machine.required,
        "measured_on": describe_machine().cpu,
        "components": {**components, _COMPONENT: layers},
    }
    write_schedule(path, Schedule.model_validate(schedule))
