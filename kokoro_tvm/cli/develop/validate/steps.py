"""kokoro-tvm validate steps: compares the steps of one utterance between implementations."""

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
from kokoro_tvm.cli._speech import BUNDLE, DEFAULT_VOICE, BundleOption, ThreadsOption, print_notices
from kokoro_tvm.cli.develop.validate._options import HELLO, SeedOption, SpeedOption, verdict

if TYPE_CHECKING:
    from rich.table import Table

    from kokoro_tvm.validation.measure.compare import Pair, StepRow


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
    given_durations: Annotated[
        bool,
        typer.Option(
            "--given-durations",
            help="Align the bundle by the durations of `pt.float64`, so that later steps can be compared "
            "even if its own durations differ.",
        ),
    ] = False,
    save_dir: Annotated[
        Path | None,
        typer.Option(
            "--save-dir",
            metavar="DIR",
            help="Write the steps (safetensors) and audio (32-bit float WAV) of every regime to this folder.",
        ),
    ] = None,
    json: JsonOption = False,
    json_file: JsonFileOption = None,
    threads: ThreadsOption = None,
    root: RootOption = Path(),
) -> None:
    """Find the first step of an utterance that misses its gate.

    Regimes, which are the stock model in several precisions and lengths and the bundle (`tvm`), compute the
    same utterance with the same noise. Pairs of them are compared at every step.
    """
    from kokoro_tvm.runtime import read_bundle
    from kokoro_tvm.tools.lab.setting import Lab, build_utterance
    from kokoro_tvm.tools.lab.steps import compare_regimes, compute_regimes, save_regimes

    check_file(json_file)
    if text is None and phonemes is None:
        phonemes = HELLO
    with print_notices():
        utterance = build_utterance(phonemes, text, voice, speed, seed, read_bundle(bundle))
    lab = Lab.open(bundle, root, threads, note)
    regimes = compute_regimes(lab, utterance, given_durations)
    report = compare_regimes(lab, utterance, regimes)
    out = console(json=json)
    for pair in report.pairs:
        out.print(_table(pair), "")
    for line in report.missed or ["Every judged step meets its gate."]:
        out.print(line, highlight=False, soft_wrap=True)
    if save_dir is not None:
        for path in save_regimes(regimes, save_dir, lab.bundle.sample_rate):
            out.print(f"{path}", highlight=False, soft_wrap=True)
    write_json(json_file, report.to_json(), json)
    report.require()


def _table(pair: Pair) -> Table:
    title = f"{pair.value} against {pair.reference}"
    if not pair.judged:
        title += " (not judged: gates are about what is built, against pt.float64)"
    headings = ("MAE", "max abs", "RMSE", "SNR, dB", "correlation", "finite", "tail, max abs")
    rows = table("step", headings, title, "verdict")
    for row in pair.rows:
        rows.add_row(row.step, *_cells(row), _verdict(row, pair.judged))
    return rows


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
    """Return the verdict and its reason; without verdicts, the reason that there are none."""
    if not row.verdicts:
        return row.reason if row.tail is not None else row.reason.partition(":")[0]
    why = f" ({row.reason})" if row.reason else ""
    return verdict(row.verdicts, judged) + why
