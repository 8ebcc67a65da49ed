"""kokoro-tvm validate steps: one utterance in every regime, step by step."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kokoro_tvm.cli._speech import BUNDLE, BundleOption, ThreadsOption, noted
from kokoro_tvm.cli.validate._options import (
    HELLO,
    JsonOption,
    RootOption,
    SeedOption,
    SpeedOption,
    check_file,
    console,
    tell,
    write_json,
)

if TYPE_CHECKING:
    from rich.table import Table

    from kokoro_tvm.validate.compare import Pair, StepRow

__all__ = ["register"]


def register(group: typer.Typer) -> None:
    """Adds the command `steps`."""
    group.command("steps")(steps)


def steps(
    text: Annotated[str | None, typer.Option("--text", help="What to say, one paragraph.")] = None,
    phonemes: Annotated[
        str | None, typer.Option("--phonemes", help="The same as phonemes.", show_default='"Hello world."')
    ] = None,
    voice: Annotated[str, typer.Option("--voice", help="A voice.")] = "af_heart",
    speed: SpeedOption = 1.0,
    seed: SeedOption = 0,
    bundle: BundleOption = BUNDLE,
    pairs: Annotated[
        str | None,
        typer.Option("--pairs", metavar="PAIRS", help="REFERENCE:VALUE,... of regimes.", show_default="five"),
    ] = None,
    given_durations: Annotated[
        bool, typer.Option("--given-durations", help="All regimes align by pt.float64's durations.")
    ] = False,
    json_file: JsonOption = None,
    threads: ThreadsOption = None,
    root: RootOption = Path(),
) -> None:
    """Compare regimes at every step of one utterance and name the first that misses its gate."""
    from kokoro_tvm.lab.setting import Lab, utterance_of
    from kokoro_tvm.lab.steps import DEFAULT_PAIRS, parse_pairs, regimes, report_steps

    # Before anything takes time: what was asked for in vain.
    check_file(json_file)
    wanted = DEFAULT_PAIRS if pairs is None else parse_pairs(pairs)
    if text is None and phonemes is None:
        phonemes = HELLO
    with noted():
        utterance = utterance_of(phonemes, text, voice, speed, seed)
    lab = Lab.open(bundle, root, threads, tell)
    found = regimes(lab, utterance, {name for pair in wanted for name in pair}, None, given_durations)
    report = report_steps(lab, utterance, found, wanted)
    out = console()
    for pair in report.pairs:
        out.print(_table(pair))
        out.print()
    for line in report.missed or ["Every judged step meets its gate."]:
        out.print(line, highlight=False, soft_wrap=True)
    write_json(json_file, report.to_json())
    report.require()


def _table(pair: Pair) -> Table:
    from rich import box
    from rich.table import Table

    title = f"{pair.value} against {pair.reference}"
    if not pair.judged:
        title += " (not judged: gates are about what is built, against pt.float64)"
    made = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    made.add_column("step", no_wrap=True)
    for heading in ("MAE", "max abs", "RMSE", "SNR, dB", "correlation", "finite", "tail, max abs"):
        made.add_column(heading, justify="right")
    made.add_column("verdict")
    for row in pair.rows:
        made.add_row(row.step, *_cells(row), _verdict(row, pair.judged))
    return made


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
        return row.reason.partition(":")[0] if row.tail is None else row.reason
    if row.status == "passed":
        return "[green]passed[/]" if judged else "would pass"
    failed = "; ".join(str(v) for v in row.verdicts if v.status == "failed")
    why = f" ({row.reason})" if row.reason else ""
    return f"[bold red]FAILED[/] {failed}{why}" if judged else f"would fail: {failed}{why}"
