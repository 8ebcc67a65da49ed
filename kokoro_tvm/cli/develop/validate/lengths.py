"""kokoro-tvm validate lengths: checks components at every length, and at the edges of their buckets."""

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
from kokoro_tvm.cli._speech import BUNDLE, BundleOption, ThreadsOption
from kokoro_tvm.cli.develop.validate._options import (
    ComponentOption,
    UtteranceOption,
    parse_components,
    parse_lengths,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.table import Table

    from kokoro_tvm.tools.lab.lengths import Edge, LengthSample


def lengths(
    bundle: BundleOption = BUNDLE,
    component: ComponentOption = None,
    tokens: Annotated[
        str,
        typer.Option(
            "--tokens",
            metavar="LENGTHS",
            help="Lengths of `bert`, `duration` and `text_encoder`, in tokens: `1-64,127`, or `none`.",
        ),
    ] = "1-64",
    frames: Annotated[
        str,
        typer.Option(
            "--frames", metavar="LENGTHS", help="Lengths of `f0n` and `decoder`, in frames (40 per second)."
        ),
    ] = "1-130",
    edges: Annotated[bool, typer.Option(help="Also try the lengths at the edges of every bucket.")] = True,
    utterance: UtteranceOption = None,
    json: JsonOption = False,
    json_file: JsonFileOption = None,
    threads: ThreadsOption = None,
    root: RootOption = Path(),
) -> None:
    """Check components against their gates at every length.

    The edges of their buckets are checked, too.
    """
    from kokoro_tvm.common.constants import COMPONENT_AXES
    from kokoro_tvm.tools.lab.lengths import LengthsReport, check_edges, measure_lengths
    from kokoro_tvm.tools.lab.setting import Lab
    from kokoro_tvm.validation.reference.reference import DYNAMIC, TRUTH

    check_file(json_file)
    spans = {"tokens": parse_lengths(tokens, "--tokens"), "frames": parse_lengths(frames, "--frames")}
    names = parse_components(component)
    lab = Lab.open(bundle, root, threads, note)
    reference = lab.reference(utterance)
    truth, pytorch = lab.stock(TRUTH), lab.stock(DYNAMIC)
    rows: list[LengthSample] = []
    results: list[Edge] = []
    for name in names:
        axis = COMPONENT_AXES[name]
        fitting = [n for n in spans[axis] if n <= lab.tvm.buckets(name)[-1]]
        note(f"{name}: {len(fitting)} lengths in {axis}")
        rows += measure_lengths(lab.tvm, truth, pytorch, reference, name, fitting, lab.recipe.gates)
        if edges:
            note(f"{name}: edges of {', '.join(map(str, lab.tvm.buckets(name)))}")
            results += check_edges(lab.tvm.session, reference, name)
    report = LengthsReport(str(bundle), lab.tvm.policy, lab.recipe.gates.enforce, tuple(rows), tuple(results))
    out = console(json=json)
    if rows:
        out.print(_table(rows, report.enforce), "")
    if results:
        out.print(_edges_table(results), "")
    for line in report.missed or ["Every length meets its gates."]:
        out.print(line, highlight=False, soft_wrap=True)
    write_json(json_file, report.to_json(), json)
    report.require()


def _table(rows: Sequence[LengthSample], judged: bool) -> Table:
    """One row for each output: the worst of all lengths."""
    headings = ("output", "lengths", "least SNR, dB", "at", "PyTorch there", "least gain, dB", "at")
    result = table("component", headings, "every length, against pt.float64 on the same inputs", "verdict")
    for key in dict.fromkeys((row.component, row.output) for row in rows):
        of = [row for row in rows if (row.component, row.output) == key]
        worst = min(of, key=lambda row: row.metrics["snr_db"])
        least = min(of, key=lambda row: row.metrics["gain_db"])
        failed = [row.length for row in of if row.status == "failed"]
        verdict = (
            f"[bold red]FAILED[/] at {len(failed)} lengths" if judged else f"would fail at {len(failed)}"
        )
        result.add_row(
            key[0],
            key[1],
            f"{of[0].length}–{of[-1].length}, {len(of)}",
            f"{worst.metrics['snr_db']:.1f}",
            f"{worst.length}",
            f"{worst.metrics['pytorch_snr_db']:.1f}",
            f"{least.metrics['gain_db']:.1f}",
            f"{least.length}",
            verdict if failed else "[green]passed[/]",
        )
    return result


def _edges_table(edges: Sequence[Edge]) -> Table:
    result = table(
        "component", ("bucket", "length", "belongs to", "what came"), "edges of buckets", "verdict"
    )
    for edge in edges:
        came = "refused" if edge.refused else "as that bucket" if edge.equal else "something else"
        belongs = "none, refused" if edge.expected is None else str(edge.expected)
        verdict = "[green]passed[/]" if edge.status == "passed" else "[bold red]FAILED[/]"
        result.add_row(edge.component, str(edge.bucket), str(edge.length), belongs, came, verdict)
    return result
