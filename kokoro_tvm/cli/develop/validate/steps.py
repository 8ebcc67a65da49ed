"""kokoro-tvm validate steps: compares the steps of one utterance between implementations."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kokoro_tvm.cli._output import (
    JsonFileOption,
    RootOption,
    check_file,
    console,
    progress,
    table,
    write_json,
)
from kokoro_tvm.cli._speech import BUNDLE, DEFAULT_VOICE, BundleOption, ThreadsOption, noted
from kokoro_tvm.cli.develop.validate._options import HELLO, SeedOption, SpeedOption, parse_lengths, verdict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rich.table import Table

    from kokoro_tvm.tools.lab.decoders import Crossed, Decoded
    from kokoro_tvm.validation.measure.compare import Pair, StepRow

__all__ = ["steps"]

_SWEEP = "128,256,512"


def steps(
    text: Annotated[str | None, typer.Option("--text", help="Text to speak: one paragraph.")] = None,
    phonemes: Annotated[
        str | None, typer.Option("--phonemes", help="Phonemes to speak.", show_default='"Hello world."')
    ] = None,
    voice: Annotated[
        str | None, typer.Option("--voice", help="Name of a voice.", show_default=DEFAULT_VOICE)
    ] = None,
    speed: SpeedOption = 1.0,
    seed: SeedOption = 0,
    bundle: BundleOption = BUNDLE,
    pairs: Annotated[
        str | None,
        typer.Option(
            "--pairs",
            metavar="PAIRS",
            help="Regimes to compare: `REFERENCE:VALUE`, separated by commas.",
            show_default="see below",
        ),
    ] = None,
    frames: Annotated[
        int | None,
        typer.Option(
            "--frames",
            min=1,
            help="Static length of `pt.masked` and `pt.padded`.",
            show_default="the smallest that fits",
        ),
    ] = None,
    given_durations: Annotated[
        bool,
        typer.Option(
            "--given-durations",
            help="Use the durations of `pt.float64` in all regimes, so that later steps can be compared even "
            "if their own durations differ.",
        ),
    ] = False,
    crossed: Annotated[
        bool,
        typer.Option(help="Also run the decoders of `tvm` and PyTorch on each other's inputs."),
    ] = True,
    sweep: Annotated[
        str,
        typer.Option(
            "--sweep",
            metavar="BUCKETS",
            help="Also run the decoder on the inputs of `pt.float64`: `pt.masked` and `pt.padded` at these "
            "lengths (frames), the bundle at its own. `none` skips this.",
        ),
    ] = _SWEEP,
    save_dir: Annotated[
        Path | None,
        typer.Option(
            "--save-dir",
            metavar="DIR",
            help="Write the steps (safetensors) and audio (32-bit float WAV) of every regime to this folder.",
        ),
    ] = None,
    json_file: JsonFileOption = None,
    threads: ThreadsOption = None,
    root: RootOption = Path(),
) -> None:
    """Find the first step of an utterance that misses its gate.

    Regimes, which are the stock model in several precisions and lengths and the bundle (`tvm`), compute the
    same utterance with the same noise. Pairs of them are compared at every step.
    """
    from kokoro_tvm.runtime import read_bundle
    from kokoro_tvm.tools.lab.setting import Lab, utterance_of
    from kokoro_tvm.tools.lab.steps import DEFAULT_PAIRS, parse_pairs, regimes, report_steps, save_regimes

    # Refuse wrong arguments before anything that takes time.
    check_file(json_file)
    chosen = DEFAULT_PAIRS if pairs is None else parse_pairs(pairs)
    buckets = parse_lengths(sweep, "--sweep")
    if text is None and phonemes is None:
        phonemes = HELLO
    with noted():
        utterance = utterance_of(phonemes, text, voice, speed, seed, read_bundle(bundle))
    lab = Lab.open(bundle, root, threads, progress)
    names = {name for pair in chosen for name in pair}
    computed = regimes(lab, utterance, names, frames, given_durations)
    report = report_steps(lab, utterance, computed, chosen, crossed, buckets)
    out = console()
    for pair in report.pairs:
        out.print(_table(pair), "")
    if report.crossed:
        out.print(_crossed_table(report.crossed), "")
    if report.sweep:
        out.print(_sweep_table(report.sweep), "")
    for line in report.missed or ["Every judged step meets its gate."]:
        out.print(line, highlight=False, soft_wrap=True)
    if save_dir is not None:
        for path in save_regimes(computed, save_dir, lab.bundle.sample_rate):
            out.print(f"{path}", highlight=False, soft_wrap=True)
    write_json(json_file, report.to_json())
    report.require()


def _table(pair: Pair) -> Table:
    title = f"{pair.value} against {pair.reference}"
    if not pair.judged:
        title += " (not judged: gates are about what is built, against pt.float64)"
    headings = ("MAE", "max abs", "RMSE", "SNR, dB", "correlation", "finite", "tail, max abs")
    result = table("step", headings, title, "verdict")
    for row in pair.rows:
        result.add_row(row.step, *_cells(row), _verdict(row, pair.judged))
    return result


def _cells(row: StepRow) -> list[str]:
    tail = "–" if row.tail is None else f"{row.tail.max_abs:.3g}"
    if row.tail is not None and row.tail.finite_fraction < 1:
        tail += f", {row.tail.finite_fraction:.1%} finite"
    if row.metrics is None:
        return [*["–"] * 6, tail]
    m = row.metrics
    errors = [f"{m[name]:.2e}" for name in ("mean_abs", "max_abs", "rms_error")]
    finite = "all" if m["finite_fraction"] == 1 else f"{m['finite_fraction']:.2%}"
    return [*errors, f"{m['snr_db']:.1f}", f"{m['correlation']:.7f}", finite, tail]


def _verdict(row: StepRow, judged: bool) -> str:
    if not row.verdicts:
        return row.reason if row.tail is not None else row.reason.partition(":")[0]
    why = f" ({row.reason})" if row.reason else ""
    return verdict(row.verdicts, judged) + why


def _crossed_table(rows: Sequence[Crossed]) -> Table:
    headings = ("fed by", "like who fed it: SNR, dB", "spectra", "like pt.float64: SNR, dB", "spectra")
    result = table("decoder", headings, "crossed decoders")
    for row in rows:
        truth = row.like_truth
        against = ["other durations", "–"] if truth is None else _likeness(truth)
        result.add_row(row.decoder, row.fed_by, *_likeness(row.like_fed), *against)
    return result


def _likeness(metrics: Mapping[str, float]) -> list[str]:
    return [f"{metrics['snr_db']:.1f}", f"{metrics['magnitude_correlation']:.6f}"]


def _sweep_table(rows: Sequence[Decoded]) -> Table:
    headings = ("bucket", "utterance", "frames", "SNR, dB", "gain, dB", "spectra", "tail, max abs")
    result = table("regime", headings, "the decoder alone, on pt.float64's inputs", "verdict")
    for row in rows:
        cells = [str(row.bucket or "exact"), row.utterance, str(row.frames)]
        if row.metrics is None:
            result.add_row(row.regime, *cells, *["–"] * 4, f"not run: {row.reason}")
            continue
        m = row.metrics
        tail = "–" if row.tail is None else f"{row.tail.max_abs:.3g}"
        cells += [f"{m['snr_db']:.1f}", f"{m['gain_db']:.1f}", f"{m['magnitude_correlation']:.6f}", tail]
        result.add_row(row.regime, *cells, verdict(row.verdicts, row.judged))
    return result
