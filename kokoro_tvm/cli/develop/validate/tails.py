"""kokoro-tvm validate tails: checks that values behind the valid part change no output."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

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
from kokoro_tvm.cli._speech import BundleOption, ThreadsOption
from kokoro_tvm.cli.develop.validate._options import (
    ComponentOption,
    UtteranceOption,
    parse_components,
    parse_lengths,
)


def tails(
    bundle: BundleOption = Path("artifacts/cpu-masked"),
    component: ComponentOption = None,
    buckets: Annotated[
        str | None,
        typer.Option(
            "--buckets",
            metavar="LENGTHS",
            help="Buckets, separated by commas: `128,512`.",
            show_default="all",
        ),
    ] = None,
    count: Annotated[
        int,
        typer.Option(
            "--count", min=1, help="Number of random tails for each of the three valid lengths of a bucket."
        ),
    ] = 50,
    utterance: UtteranceOption = None,
    json: JsonOption = False,
    json_file: JsonFileOption = None,
    threads: ThreadsOption = None,
    root: RootOption = Path(),
) -> None:
    """Check that values behind the valid length have no effect.

    The bundle must have masked lengths. Not a bit of the outputs may change.
    """
    from kokoro_tvm.common.errors import InputError
    from kokoro_tvm.tools.lab.lengths import TailsReport, choose_lengths, try_tails
    from kokoro_tvm.tools.lab.setting import Lab

    check_file(json_file)
    names = parse_components(component)
    chosen = parse_lengths(buckets, "--buckets") if buckets else ()
    lab = Lab.open(bundle, root, threads, note)
    if lab.bundle.length != "masked":
        raise InputError(
            f"{bundle} has {lab.bundle.length} lengths, but only masked lengths ignore values behind the "
            "valid part. Name a bundle that has them, such as artifacts/cpu-masked."
        )
    reference = lab.reference(utterance)
    trials = []
    for name in names:
        for bucket in lab.tvm.buckets(name):
            if chosen and bucket not in chosen:
                continue
            note(f"{name}-{bucket}: {count} tails")
            for length in choose_lengths(bucket):
                trials.append(try_tails(lab.tvm, reference, name, bucket, length, count))
    if not trials:
        raise InputError(f"{bundle} has no bucket of --buckets {buckets}.")
    report = TailsReport(str(bundle), lab.tvm.policy, tuple(trials))
    headings = ("bucket", "length", "tails", "bit for bit equal", "outputs behind it")
    rows = table("component", headings, "tails", "verdict")
    for trial in trials:
        verdict = "[green]passed[/]" if trial.status == "passed" else "[bold red]FAILED[/]"
        tail = "zeros" if trial.silent else "not zeros"
        cells = (trial.bucket, trial.length, trial.tails, trial.equal)
        rows.add_row(trial.component, *map(str, cells), tail, verdict)
    console(json=json).print(rows, "")
    write_json(json_file, report.to_json(), json)
    report.require()
