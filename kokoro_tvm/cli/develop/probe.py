"""kokoro-tvm probe: compares values inside a component between compiled code and PyTorch."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kokoro_tvm.cli._output import JsonFileOption, RootOption, check_file, console, progress, write_json
from kokoro_tvm.cli._speech import ThreadsOption

if TYPE_CHECKING:
    from rich.table import Table

    from kokoro_tvm.builder.graph import RecipeGraph
    from kokoro_tvm.recipe import ArtifactSpec
    from kokoro_tvm.tools.lab.probe.compare import Summary
    from kokoro_tvm.tools.lab.probe.probe import ProbeResult
    from kokoro_tvm.tools.lab.probe.subject import Subject
    from kokoro_tvm.tools.lab.probe.values import Value
    from kokoro_tvm.validation.reference.reference import Reference

__all__ = ["probe"]

_TOLERANCE = {"float32": 1e-4, "bfloat16": 1e-1, "float16": 1e-2}
"""More than ten times the largest error of any value, measured on Kokoro's weights (docs/accuracy.md)."""


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
            help="A value (`decoder.encode/conv1d_4`, or `conv1d_4`), or a module (`decoder.encode`) for its "
            "result. Wildcards are allowed. May be repeated.",
        ),
    ] = None,
    every: Annotated[bool, typer.Option("--every", help="Compare every value.")] = False,
    show: Annotated[
        bool,
        typer.Option(
            "--list",
            help="Only list the values: name, shape, type, and the layers whose weights they read. Needs no "
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
    random: Annotated[
        int | None,
        typer.Option(
            "--random",
            metavar="SEED",
            help="With `--operation`: use standard normal inputs of the same shapes instead.",
        ),
    ] = None,
    utterance: Annotated[
        str | None,
        typer.Option(
            "--utterance", help="Utterance of the recipe to use as input.", show_default="the first"
        ),
    ] = None,
    tolerance: Annotated[
        float | None,
        typer.Option(
            "--tolerance",
            min=0,
            help="Largest relative error, ‖value − float64‖ / ‖float64‖.",
            show_default="0.0001; float16: 0.01; bfloat16: 0.1",
        ),
    ] = None,
    json_file: JsonFileOption = None,
    threads: ThreadsOption = None,
    root: RootOption = Path(),
) -> None:
    """Compare values inside a component with PyTorch and name the first that diverges.

    Without --at, --every or --operation, the result of every module is compared.
    """
    from kokoro_tvm.common.errors import InputError

    # Refuse wrong arguments before anything that takes time.
    check_file(json_file)
    if random is not None and operation is None:
        raise InputError("--random needs --operation.")
    if every and at:
        raise InputError("--every and --at exclude each other. Give one of them.")
    graph, specs = _artifacts(artifact, root)
    reference = None if show else _reference(graph, utterance, root)
    spec = specs[0] if reference is None else _fitting(specs, reference)
    subject = _subject(graph, spec, weights=not show)
    chosen = _chosen(subject, at or [], every or show, operation)
    if reference is None:
        typer.echo(_listing(chosen, subject))
        return
    import torch

    from kokoro_tvm.runtime.threads import choose_threads
    from kokoro_tvm.tools.lab.probe.probe import Probe

    count = choose_threads(threads)
    torch.set_num_threads(count)
    allowed = _TOLERANCE[graph.recipe.precision] if tolerance is None else tolerance
    made, inputs = Probe(subject, allowed, count, progress), reference.inputs(spec.component)
    rows = made.inside(chosen, inputs) if operation is None else made.alone(chosen, inputs, random)
    findings = made.findings(f"{graph.recipe.name}/{spec.id}", rows, len(chosen), operation is not None)
    _show(findings, brief=every or len(chosen) > 40)
    write_json(json_file, findings.to_json() | {"utterance": reference.name})
    findings.require()


def _artifacts(word: str, root: Path) -> tuple[RecipeGraph, list[ArtifactSpec]]:
    """The recipe's graph, and the artifacts meant: one, or all buckets of a component."""
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


def _reference(graph: RecipeGraph, utterance: str | None, root: Path) -> Reference:
    """The utterance's reference; weights and target are built first where they are not current."""
    from kokoro_tvm.builder.reference_store import ReferenceStore
    from kokoro_tvm.cli.develop.build import run_tasks

    chosen = graph.recipe.utterance(utterance)
    needed = (graph.checkpoint, graph.machine)
    missing = [stage.name for stage in needed if not stage.is_current()]
    if missing:
        run_tasks(missing, 1, root)
    store = ReferenceStore(graph.checkpoint.folder, graph.reference.folder, progress)
    return store.references([chosen])[0]


def _fitting(specs: list[ArtifactSpec], reference: Reference) -> ArtifactSpec:
    from kokoro_tvm.common.errors import InputError

    length = reference.length(specs[0].axis)
    for spec in specs:
        if length <= spec.bucket:
            return spec
    raise InputError(
        f"{reference.name} has {length} {specs[-1].axis}, {specs[-1].id} takes {specs[-1].bucket}: probe "
        "with another --utterance."
    )


def _subject(graph: RecipeGraph, spec: ArtifactSpec, weights: bool) -> Subject:
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


def _chosen(subject: Subject, at: list[str], every: bool, operation: str | None) -> list[Value]:
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
    kept = [v for v in chosen if v.operation == operation]
    if not kept:
        there = ", ".join(sorted({v.operation for v in chosen}))
        raise InputError(f"None of these values is a result of {operation!r}; there are: {there}.")
    return kept


def _listing(values: list[Value], subject: Subject) -> str:
    """A line a value: name, shape and type, and which layers' weights the operation reads."""
    symbol = subject.signature.symbol
    shapes = [f"{v.shown_shape(symbol)} {v.dtype}" for v in values]
    wide, middle = max(len(v.name) for v in values), max(map(len, shapes))
    lines = []
    for v, shape in zip(values, shapes, strict=True):
        layers = dict.fromkeys(w.rpartition(".")[0].removeprefix(f"{v.module}.") for w in v.weights)
        lines.append(f"{v.name:<{wide}}  {shape:<{middle}}  {' '.join(layers)}".rstrip())
    return "\n".join(lines)


def _show(findings: ProbeResult, brief: bool) -> None:
    out = console()
    out.print(_brief(findings) if brief else _detailed(findings), highlight=False)
    if findings.first is not None and brief:
        out.print(_detailed(findings, last=True), highlight=False)
    if findings.first is None:
        out.print(
            f"None of {len(findings.rows)} values diverges: every relative error is at most "
            f"{findings.tolerance:g}, or near PyTorch float32's own.",
            highlight=False,
            soft_wrap=True,
        )


def _brief(findings: ProbeResult) -> Table:
    made = _table("value", "finite", "error", "PyTorch's", "")
    for row in findings.rows:
        finite = _finite(row.tvm)
        mark = "[bold red]diverges[/]" if row.diverges else ""
        made.add_row(row.value.name, finite, f"{row.error:.1e}", f"{row.pytorch_error:.1e}", mark)
    return made


def _detailed(findings: ProbeResult, last: bool = False) -> Table:
    made = _table("value", "finite", "min", "1 %", "50 %", "99 %", "max", "error", "head")
    for row in findings.rows[-1:] if last else findings.rows:
        mark = ", [bold red]diverges[/]" if row.diverges else ""
        made.add_row(f"{row.value.name} {row.shape}{mark}")
        made.add_row(*_cells("  TVM", row.tvm, row.error))
        made.add_row(*_cells("  PyTorch", row.pytorch, row.pytorch_error))
    return made


def _table(first: str, *others: str) -> Table:
    from rich import box
    from rich.table import Table

    made = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    made.add_column(first, overflow="fold")
    for heading in others:
        made.add_column(heading, justify="left" if heading == "head" else "right", no_wrap=True)
    return made


def _cells(side: str, found: Summary, error: float) -> list[str]:
    cells = [f"{v:.3g}" for v in (found.min, found.p1, found.median, found.p99, found.max)]
    return [side, _finite(found), *cells, f"{error:.1e}", " ".join(f"{v:.4g}" for v in found.head)]


def _finite(found: Summary) -> str:
    return "all" if found.finite_fraction == 1 else f"{found.finite_fraction:.2%}"
