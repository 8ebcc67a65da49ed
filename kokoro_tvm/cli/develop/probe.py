"""kokoro-tvm probe: compares values inside a component between compiled code and PyTorch."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kokoro_tvm.cli._output import (
    JsonFileOption,
    JsonOption,
    RootOption,
    check_file,
    console,
    note,
    table,
    write_json,
)
from kokoro_tvm.cli._speech import ThreadsOption

if TYPE_CHECKING:
    from rich.console import Console

    from kokoro_tvm.builder.graph import RecipeGraph
    from kokoro_tvm.recipe import ArtifactSpec
    from kokoro_tvm.tools.lab.probe.compare import Summary
    from kokoro_tvm.tools.lab.probe.probe import ProbeResult
    from kokoro_tvm.tools.lab.probe.subject import Subject
    from kokoro_tvm.tools.lab.probe.values import Value
    from kokoro_tvm.validation.reference.reference import Reference


# More than ten times the largest error of any value, measured on Kokoro's weights (docs/accuracy.md).
_TOLERANCES = {"float32": 1e-4, "bfloat16": 1e-1, "float16": 1e-2}


def probe(
    artifact: Annotated[
        str,
        typer.Argument(
            help="`RECIPE/ARTIFACT`, or `RECIPE/COMPONENT` for the smallest bucket that holds the utterance."
        ),
    ],
    at: Annotated[
        list[str] | None,
        typer.Option(
            "--at",
            metavar="NAME",
            help="Compare this value (`decoder.encode/conv1d_4`, or `conv1d_4`), or the result of this "
            "module (`decoder.encode`). Wildcards are allowed. May be repeated.",
        ),
    ] = None,
    every: Annotated[bool, typer.Option("--every", help="Compare every value.")] = False,
    show: Annotated[
        bool,
        typer.Option(
            "--list",
            help="Only list the values: name, shape, dtype, and the layers whose weights they read. Needs no "
            "build.",
        ),
    ] = False,
    operation: Annotated[
        str | None,
        typer.Option(
            "--operation",
            help="Compile each operation of this kind (`conv1d`, `add`, …) alone, on the inputs it has in "
            "the PyTorch float64 run.",
        ),
    ] = None,
    utterance: Annotated[
        str | None,
        typer.Option(
            "--utterance", help="Utterance of the recipe to use as input.", show_default="the first"
        ),
    ] = None,
    json: JsonOption = False,
    json_file: JsonFileOption = None,
    threads: ThreadsOption = None,
    root: RootOption = Path(),
) -> None:
    """Find the first value inside a component that diverges.

    Values are compared with PyTorch's in float64. A value diverges if its relative error, ‖value − float64‖ /
    ‖float64‖, is above 0.0001 (float16: 0.01, bfloat16: 0.1) and far above PyTorch float32's own. Without
    --at, --every or --operation, the result of every module is compared.
    """
    from kokoro_tvm.common.errors import InputError

    # Refuse wrong arguments before anything that takes time.
    check_file(json_file)
    if every and at:
        raise InputError("--every and --at exclude each other. Give one of them.")
    graph, specs = _find_artifacts(artifact, root)
    reference = None if show else _compute_reference(graph, utterance, root)
    spec = specs[0] if reference is None else _choose_bucket(specs, reference)
    subject = _make_subject(graph, spec, weights=not show)
    values = _choose_values(subject, at or [], every or show, operation)
    if reference is None:
        typer.echo(_list_values(values, subject))
        return
    import torch

    from kokoro_tvm.runtime.threads import choose_threads
    from kokoro_tvm.tools.lab.probe.probe import Probe

    count = choose_threads(threads)
    torch.set_num_threads(count)
    result = Probe(subject, _TOLERANCES[graph.recipe.precision], count, note).run(
        f"{graph.recipe.name}/{spec.id}", values, reference.inputs(spec.component), operation is not None
    )
    _show(result, console(json=json))
    write_json(json_file, result.to_json() | {"utterance": reference.name}, json)
    result.require()


def _find_artifacts(word: str, root: Path) -> tuple[RecipeGraph, list[ArtifactSpec]]:
    """Return the recipe's graph and the artifact that a word means, or all buckets of a component.

    Raises InputError for a word without a recipe.
    """
    from kokoro_tvm.builder.project import Project
    from kokoro_tvm.common.constants import COMPONENT_AXES
    from kokoro_tvm.common.errors import InputError

    name, slash, what = word.rpartition("/")
    if not slash:
        raise InputError(f"{word!r} names no recipe: write cpu/{word}, RECIPE/COMPONENT or RECIPE/ARTIFACT.")
    if what not in COMPONENT_AXES:
        graph, spec = Project(root).artifact(word)
        return graph, [spec]
    graph = Project(root).graph(name)
    return graph, graph.specs(what)


def _compute_reference(graph: RecipeGraph, utterance: str | None, root: Path) -> Reference:
    """Return the utterance's reference. Weights and target are built first if they are not current."""
    from kokoro_tvm.builder.reference_store import ReferenceStore
    from kokoro_tvm.cli.develop.build import run_tasks

    spec = graph.recipe.utterance(utterance)
    missing = [stage.name for stage in (graph.checkpoint, graph.machine) if not stage.is_current()]
    if missing:
        run_tasks(missing, 1, root)
    store = ReferenceStore(graph.checkpoint.folder, graph.reference.folder, note)
    return store.references([spec])[0]


def _choose_bucket(specs: list[ArtifactSpec], reference: Reference) -> ArtifactSpec:
    """Return the smallest bucket that holds the utterance. Raises InputError if none does."""
    from kokoro_tvm.common.errors import InputError

    length = reference.length(specs[0].axis)
    for spec in specs:
        if length <= spec.bucket:
            return spec
    raise InputError(
        f"{reference.name} has {length} {specs[-1].axis}, {specs[-1].id} takes {specs[-1].bucket}: probe "
        "with another --utterance."
    )


def _make_subject(graph: RecipeGraph, spec: ArtifactSpec, weights: bool) -> Subject:
    """Return what the probe lowers and runs. Without weights, nothing has to be built."""
    from kokoro_tvm.model.kokoro import load_config, load_shipped_config, load_state
    from kokoro_tvm.model.patches.weight_norm import fold_weight_norm
    from kokoro_tvm.recipe import choose_layers
    from kokoro_tvm.targets import Machine, resolve, tools_for
    from kokoro_tvm.tools.lab.probe.subject import Subject

    recipe, folder = graph.recipe, graph.checkpoint.folder
    machine = (
        Machine.from_json(graph.machine.read_json("machine.json"))
        if weights
        else resolve(recipe.target, recipe.precision)
    )
    folded = fold_weight_norm(load_state(folder)) if weights else {}
    chosen = choose_layers(recipe.schedules, machine.required, spec.component)
    return Subject(
        component=spec.component,
        config=load_config(folder)
        if weights or (folder / "config.json").is_file()
        else load_shipped_config(),
        length=spec.length,
        bucket=spec.bucket,
        patches=recipe.components[spec.component].patches,
        passes=recipe.passes,
        pass_context=recipe.pass_context.model_dump(mode="json"),
        machine=machine,
        toolchain=tools_for(recipe.target).toolchain(),
        weights={name: tensor.numpy() for name, tensor in folded.items()},
        schedule={layer: choice.model_dump() for layer, choice in chosen.items()},
    )


def _choose_values(subject: Subject, at: list[str], every: bool, operation: str | None) -> list[Value]:
    """Return the values to compare: those named, all, or modules' results; of `operation` if it is set.

    Raises InputError if there are none.
    """
    from kokoro_tvm.common.errors import InputError
    from kokoro_tvm.tools.lab.probe.values import results_of_modules, select

    values = subject.values
    if at:
        chosen = select(values, at)
    elif every or operation is not None:
        chosen = list(values)
    else:
        chosen = results_of_modules(values)
    if operation is None:
        return chosen
    results = [value for value in chosen if value.operation == operation]
    if not results:
        operations = ", ".join(sorted({value.operation for value in chosen}))
        raise InputError(f"None of these values is a result of {operation!r}; there are: {operations}.")
    return results


def _list_values(values: list[Value], subject: Subject) -> str:
    """Return a line for each value: name, shape and dtype, and the layers whose weights it is made of."""
    symbol = subject.signature.symbol
    shapes = [f"{value.shown_shape(symbol)} {value.dtype}" for value in values]
    names_width, shapes_width = max(len(value.name) for value in values), max(map(len, shapes))
    lines = []
    for value, shape in zip(values, shapes, strict=True):
        layers = (weight.rpartition(".")[0].removeprefix(f"{value.module}.") for weight in value.weights)
        line = f"{value.name:<{names_width}}  {shape:<{shapes_width}}  {' '.join(dict.fromkeys(layers))}"
        lines.append(line.rstrip())
    return "\n".join(lines)


def _show(result: ProbeResult, out: Console) -> None:
    """Print the errors of all values, and the statistics of the one that diverges."""
    errors = table("value", ("finite", "error", "PyTorch's"), last="")
    for row in result.rows:
        cells = (_format_finite(row.tvm), f"{row.error:.1e}", f"{row.pytorch_error:.1e}")
        errors.add_row(row.value.name, *cells, "[bold red]diverges[/]" if row.diverges else "")
    out.print(errors, highlight=False)
    first = result.first
    if first is None:
        out.print(
            f"None of {len(result.rows)} values diverges: every relative error is at most "
            f"{result.tolerance:g}, or near PyTorch float32's own.",
            highlight=False,
            soft_wrap=True,
        )
        return
    headings = ("finite", "min", "1 %", "50 %", "99 %", "max", "error")
    statistics = table(f"{first.value.name} {first.shape}", headings, last="head")
    statistics.add_row(*_cells("TVM", first.tvm, first.error))
    statistics.add_row(*_cells("PyTorch", first.pytorch, first.pytorch_error))
    out.print(statistics, highlight=False)


def _cells(side: str, summary: Summary, error: float) -> list[str]:
    values = (summary.min, summary.p1, summary.median, summary.p99, summary.max)
    cells = [f"{value:.3g}" for value in values]
    head = " ".join(f"{value:.4g}" for value in summary.head)
    return [side, _format_finite(summary), *cells, f"{error:.1e}", head]


def _format_finite(summary: Summary) -> str:
    return "all" if summary.finite_fraction == 1 else f"{summary.finite_fraction:.2%}"
