"""kokoro-tvm batch: speaks each line of a manifest to a file, here or on a cluster."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kokoro_tvm.cli._output import note, progress_bar
from kokoro_tvm.cli._speech import BUNDLE, BundleOption, ThreadsOption, without_blas_threads

if TYPE_CHECKING:
    from kokoro_tvm.serving.batch.manifest import BadLine, BatchUtterance
    from kokoro_tvm.serving.batch.speaking import UtteranceResult


def batch(
    manifest: Annotated[
        Path,
        typer.Argument(
            metavar="MANIFEST",
            help="JSON lines with `name`, and `text` or `phonemes`; optional are `voice`, `speed`, "
            "`seed`, `language` and `omit`.",
            show_default=False,
        ),
    ],
    output: Annotated[
        str,
        typer.Option(
            "-o",
            "--output",
            metavar="FOLDER",
            help="Folder to write to, or a URL of fsspec (s3://BUCKET/PATH). Files of the same content that "
            "are there already are not computed again.",
            show_default=False,
        ),
    ],
    format: Annotated[
        str,
        typer.Option("--format", metavar="NAME", help="Format of the files: wav, flac, mp3, opus or m4b."),
    ] = "wav",
    bundle: BundleOption = BUNDLE,
    workers: Annotated[
        int, typer.Option("--workers", min=1, help="Number of processes, which share the cores.")
    ] = 1,
    threads: ThreadsOption = None,
    scheduler: Annotated[
        str | None,
        typer.Option("--scheduler", metavar="ADDRESS", help="Speak on the workers of this Dask scheduler."),
    ] = None,
) -> None:
    """Synthesize many utterances, each to a file."""
    without_blas_threads()
    from kokoro_tvm.common.output import check_distinct
    from kokoro_tvm.runtime import read_bundle
    from kokoro_tvm.runtime.documents.writers import check_audio_file
    from kokoro_tvm.runtime.threads import choose_threads
    from kokoro_tvm.serving.batch.manifest import read_manifest
    from kokoro_tvm.serving.batch.speaking import BatchSettings, lock_folder, speak_here, speak_on_cluster

    utterances, bad = read_manifest(manifest)
    folder = output if "://" in output else str(Path(output).absolute())
    count = threads if scheduler else choose_threads(threads, workers)
    opened = read_bundle(bundle)
    if "://" not in output:
        files = (
            Path(folder, f"{utterance.name}.{format}{end}")
            for utterance in utterances
            for end in ("", ".json")
        )
        check_distinct((manifest,), files)
    job = BatchSettings(folder, check_audio_file("-", format), str(bundle.absolute()), opened.sha256, count)
    with lock_folder(folder):
        if scheduler is None:
            results = speak_here(job, utterances, min(workers, max(len(utterances), 1)))
        else:
            results = speak_on_cluster(scheduler, job, utterances, note)
        _report(manifest, output, utterances, bad, results)


def _report(
    manifest: Path,
    output: str,
    utterances: Sequence[BatchUtterance],
    bad: Sequence[BadLine],
    results: Iterable[UtteranceResult],
) -> None:
    """Show the progress and the totals. Raise InputError with the lines that failed."""
    import time

    from kokoro_tvm.common.errors import InputError

    outcomes: list[UtteranceResult] = []
    began = time.perf_counter()
    with progress_bar("speaking") as show:
        for outcome in results:
            outcomes.append(outcome)
            show(len(outcomes), len(utterances))
            for text in outcome.notes:
                note(f"note: {manifest}:{outcome.line}: {text}")
    elapsed = time.perf_counter() - began
    synthesized = [outcome for outcome in outcomes if outcome.status == "spoken"]
    seconds = sum(outcome.seconds for outcome in synthesized)
    present = sum(outcome.status == "present" for outcome in outcomes)
    line = f"{output}: {len(synthesized)} spoken, {seconds:.2f} s of speech in {elapsed:.2f} s"
    note(f"{line}; {present} were there" if present else line, err=False)
    failed = [(outcome.line, outcome.message) for outcome in outcomes if outcome.status == "failed"]
    failed += [(fault.line, fault.message) for fault in bad]
    if failed:
        lines = "\n".join(f"{manifest}:{number}: {message}" for number, message in sorted(failed))
        number = "1 line was" if len(failed) == 1 else f"{len(failed)} lines were"
        raise InputError(f"{number} not spoken:\n{lines}")
