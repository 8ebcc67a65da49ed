"""What a comparison end to end found, for the eye: tables for the terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from rich import box
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from kokoro_tvm.validation.measure.e2e import EndToEnd, UtteranceLikeness

__all__ = ["COLUMNS", "Column", "print_end_to_end"]


@dataclass(frozen=True)
class Column:
    """One metric of `likeness` as tables show it."""

    heading: str
    unit: str
    metric: str
    form: str
    """How a value is written."""
    worst: Callable[[Sequence[float]], float]

    def median_and_worst(self, values: Sequence[float]) -> tuple[str, str]:
        """Of the values that could be measured; dashes when none could."""
        known = [x for x in values if not np.isnan(x)]
        if not known:
            return "–", "–"
        return self.form.format(float(np.median(known))), self.form.format(self.worst(known))


def _farthest(values: Sequence[float]) -> float:
    return max(values, key=abs)


COLUMNS = (
    Column("SNR", "dB", "snr_db", "{:.1f}", min),
    Column("gain", "dB", "gain_db", "{:+.1f}", min),
    Column("lag", "", "lag_samples", "{:.0f}", _farthest),
    Column("magnitude", "", "magnitude_correlation", "{:.6f}", min),
    Column("log-mel", "", "log_mel_correlation", "{:.6f}", min),
    Column("F0 RMSE", "Hz", "f0_rmse_hz", "{:.1e}", max),
    Column("loudness", "dB", "loudness_ratio_db", "{:+.4f}", _farthest),
    Column("frames", "off", "durations_off", "{:.0f}", max),
    Column("samples", "off", "samples_off", "{:.0f}", max),
)


def print_end_to_end(found: EndToEnd, console: Console) -> None:
    """Prints both tables, every missed gate, what did not run, and how many passed."""
    console.print(Group(*_parts(found)))


def _parts(found: EndToEnd) -> Iterator[RenderableType]:
    yield _utterances(found)
    yield _summary(found)
    for line in found.missed():
        yield Text(f"missed: {line}", style="red")
    for bundle in found.bundles:
        for utterance in found.utterances:
            verdict, _, reason = utterance.status(bundle).partition(": ")
            if reason:
                yield Text(f"{verdict}: {bundle}, {utterance.name}: {reason}")
    judged = ", ".join(
        f"{bundle}: {sum(u.status(bundle) == 'passed' for u in found.utterances)} of {len(found.utterances)}"
        for bundle in found.bundles
    )
    yield Text(f"passed: {judged}")


def _table(title: str, *left: str) -> Table:
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in left:
        table.add_column(heading, no_wrap=True)
    for column in COLUMNS:
        table.add_column(f"{column.heading}\n{column.unit}", justify="right", no_wrap=True)
    return table


def _utterances(found: EndToEnd) -> Table:
    table = _table("Against pt.float64", "utterance", "side")
    table.add_column("gates", no_wrap=True)
    for utterance in found.utterances:
        name = f"{utterance.name}, {utterance.seconds:.2f} s"
        for side in found.sides:
            ours = side in found.bundles
            status = utterance.status(side).partition(":")[0] if ours else ""
            shown = Text(status, "red" if status == "failed" else "")
            table.add_row(name, Text(side, "bold" if ours else ""), *_cells(utterance, side), shown)
            name = ""
        table.add_section()
    return table


def _cells(utterance: UtteranceLikeness, side: str) -> list[str]:
    if side not in utterance.sides:
        return [""] * len(COLUMNS)
    return [column.form.format(utterance.sides[side][column.metric]) for column in COLUMNS]


def _summary(found: EndToEnd) -> Table:
    table = _table("Of all of them, the median and the worst", "side", "")
    for side in found.sides:
        pairs = [column.median_and_worst(found.values(side, column.metric)) for column in COLUMNS]
        table.add_row(side, "median", *(median for median, _ in pairs))
        table.add_row("", "worst", *(worst for _, worst in pairs))
        table.add_section()
    return table
