"""Print an end-to-end comparison as tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from rich import box
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from kokoro_tvm.validation.measure.e2e import EndToEnd, UtteranceLikeness


@dataclass(frozen=True)
class Column:
    """Format of one metric of `measure_likeness`."""

    heading: str
    unit: str
    metric: str
    form: str
    """Format string of a value."""
    worst: Callable[[Sequence[float]], float]

    def median_and_worst(self, values: Sequence[float]) -> tuple[str, str]:
        """Format median and worst of the values that are not NaN; dashes if all are."""
        numbers = [x for x in values if not np.isnan(x)]
        if not numbers:
            return "–", "–"
        return self.form.format(float(np.median(numbers))), self.form.format(self.worst(numbers))


def _farthest_from_zero(values: Sequence[float]) -> float:
    """Return the value that is farthest from 0."""
    return max(values, key=abs)


COLUMNS = (
    Column("SNR", "dB", "snr_db", "{:.1f}", min),
    Column("gain", "dB", "gain_db", "{:+.1f}", min),
    Column("lag", "", "lag_samples", "{:.0f}", _farthest_from_zero),
    Column("magnitude", "", "magnitude_correlation", "{:.6f}", min),
    Column("log-mel", "", "log_mel_correlation", "{:.6f}", min),
    Column("F0 RMSE", "Hz", "f0_rmse_hz", "{:.1e}", max),
    Column("loudness", "dB", "loudness_ratio_db", "{:+.4f}", _farthest_from_zero),
    Column("frames", "off", "durations_off", "{:.0f}", max),
    Column("samples", "off", "samples_off", "{:.0f}", max),
)


def print_end_to_end(result: EndToEnd, console: Console) -> None:
    """Print both tables, every missed gate, what did not run, and how many passed."""
    console.print(Group(*_render_parts(result)))


def _render_parts(result: EndToEnd) -> Iterator[RenderableType]:
    """Yield what `print_end_to_end` prints."""
    yield _tabulate_utterances(result)
    yield _tabulate_summary(result)
    for line in result.missed():
        yield Text(f"missed: {line}", style="red")
    for bundle in result.bundles:
        for utterance in result.utterances:
            verdict, _, reason = utterance.status(bundle).partition(": ")
            if reason:
                yield Text(f"{verdict}: {bundle}, {utterance.name}: {reason}")
    utterances = result.utterances
    judged = ", ".join(
        f"{bundle}: {sum(u.status(bundle) == 'passed' for u in utterances)} of {len(utterances)}"
        for bundle in result.bundles
    )
    yield Text(f"passed: {judged}")


def _make_table(title: str, *left: str) -> Table:
    """Return an empty table with the headings `left`, then a column for each metric."""
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in left:
        table.add_column(heading, no_wrap=True)
    for column in COLUMNS:
        table.add_column(f"{column.heading}\n{column.unit}", justify="right", no_wrap=True)
    return table


def _tabulate_utterances(result: EndToEnd) -> Table:
    """Return the table of every utterance on every side."""
    table = _make_table("Against pt.float64", "utterance", "side")
    table.add_column("gates", no_wrap=True)
    for utterance in result.utterances:
        name = f"{utterance.name}, {utterance.seconds:.2f} s"
        for side in result.sides:
            is_ours = side in result.bundles
            status = utterance.status(side).partition(":")[0] if is_ours else ""
            gates = Text(status, "red" if status == "failed" else "")
            table.add_row(name, Text(side, "bold" if is_ours else ""), *_format_cells(utterance, side), gates)
            name = ""
        table.add_section()
    return table


def _format_cells(utterance: UtteranceLikeness, side: str) -> list[str]:
    """Format the metrics of a side; empty if it did not render the utterance."""
    if side not in utterance.sides:
        return [""] * len(COLUMNS)
    return [column.form.format(utterance.sides[side][column.metric]) for column in COLUMNS]


def _tabulate_summary(result: EndToEnd) -> Table:
    """Return the table of medians and worst values over all utterances."""
    table = _make_table("Of all of them, the median and the worst", "side", "")
    for side in result.sides:
        pairs = [column.median_and_worst(result.values(side, column.metric)) for column in COLUMNS]
        table.add_row(side, "median", *(median for median, _ in pairs))
        table.add_row("", "worst", *(worst for _, worst in pairs))
        table.add_section()
    return table
