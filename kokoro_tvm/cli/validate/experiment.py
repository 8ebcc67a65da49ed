"""kokoro-tvm validate experiment: three experiments on padding."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from kokoro_tvm.cli._output import check_file, write_json
from kokoro_tvm.cli._speech import BUNDLE, BundleOption, ThreadsOption
from kokoro_tvm.cli.validate._options import JsonOption, RootOption, console, grid, span, tell, words

if TYPE_CHECKING:
    from rich.table import Table

    from kokoro_tvm.lab.experiments import Experiment

__all__ = ["register"]

_BUCKETS = {"prefix-f0n": "5120", "tail": "128,512,5120", "buckets": "128,256,512,1024,2048,5120"}


def register(group: typer.Typer) -> None:
    """Adds the command `experiment`."""
    group.command("experiment")(experiment)


def experiment(
    name: Annotated[
        Literal["prefix-f0n", "tail", "buckets"],
        typer.Argument(metavar="NAME", help="`prefix-f0n`, `tail` or `buckets`."),
    ],
    bundle: BundleOption = BUNDLE,
    utterance: Annotated[
        str | None,
        typer.Option(
            "--utterance",
            metavar="NAMES",
            help="Utterances of the recipe, separated by commas.",
            show_default="its first two",
        ),
    ] = None,
    frames: Annotated[
        str | None,
        typer.Option(
            "--frames",
            metavar="BUCKETS",
            help="Static lengths. Those that are shorter than an utterance are skipped.",
            show_default="the usual ones",
        ),
    ] = None,
    json_file: JsonOption = None,
    threads: ThreadsOption = None,
    root: RootOption = Path(),
) -> None:
    """Measure what padding changes.

    In F0N (prefix-f0n), in the decoder (tail), and bucket by bucket (buckets).
    """
    from kokoro_tvm.errors import InputError
    from kokoro_tvm.lab.experiments import bucket_sizes, decoder_tail, prefix_f0n
    from kokoro_tvm.lab.setting import Lab

    check_file(json_file)
    buckets = span(frames or _BUCKETS[name], "--frames")
    if not buckets or (name == "prefix-f0n" and len(buckets) > 1):
        raise InputError(f"--frames {frames}: {name} takes {'one' if buckets else 'at least one'} length.")
    lab = Lab.open(bundle, root, threads, tell)
    references = lab.references(words(utterance) if utterance else None, 2)
    if name == "prefix-f0n":
        done = prefix_f0n(lab, references, buckets[0])
    elif name == "tail":
        done = decoder_tail(lab, references, buckets)
    else:
        done = bucket_sizes(lab, references, buckets)
    out = console()
    out.print(_table(done), "")
    write_json(json_file, done.to_json())


_HEADINGS = {
    "f0_max_abs": "f0 off by, Hz",
    "f0_snr_db": "f0 SNR, dB",
    "n_snr_db": "n SNR, dB",
    "audio_snr_db": "audio SNR, dB",
    "snr_db": "SNR, dB",
    "pytorch_snr_db": "PyTorch's",
    "magnitude_correlation": "spectra",
    "moved_max_abs": "moved by",
    "moved_snr_db": "SNR to zeros, dB",
}
"""Metric -> heading; what has none is in the JSON file alone."""


def _table(done: Experiment) -> Table:
    columns = [name for name in _HEADINGS if any(name in row.metrics for row in done.rows)]
    headings = ("frames", "regime", "what", "bucket", *(_HEADINGS[c] for c in columns))
    made = grid(done.question, "utterance", headings, None)
    for column in made.columns:
        column.no_wrap = True
    for row in done.rows:
        cells = [_number(c, row.metrics[c]) if c in row.metrics else "–" for c in columns]
        bucket = "exact" if row.bucket is None else str(row.bucket)
        made.add_row(row.utterance, str(row.frames), row.regime, row.variant, bucket, *cells)
    return made


def _number(metric: str, value: float) -> str:
    if metric.endswith("_db"):
        return f"{value:.1f}"
    return f"{value:.6f}" if metric.endswith("correlation") else f"{value:.3g}"
