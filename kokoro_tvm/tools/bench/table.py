"""Print a result: a summary, then tables that fit 80 columns. The file has all figures."""

from __future__ import annotations

from collections.abc import Iterator

from rich import box
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from kokoro_tvm.tools.bench.results import Result, SystemResult, TextResult

_NOISY_CORES = 0.1  # a thread that waits for an interrupted one waits for milliseconds


def print_result(result: Result, console: Console) -> None:
    """Print the summary and all tables of a result."""
    console.print(Group(*map(Text, _summarize(result)), *_tables(result)))


def _summarize(result: Result) -> Iterator[str]:
    """Yield the machine, the conditions, and a line for every bundle about the longest text that it spoke."""
    yield str(result.machine)
    rounds = "1 round" if result.rounds == 1 else f"{result.rounds} rounds"
    yield f"{result.threads} threads, {rounds}, voice {result.voice}; {_describe_load(result)}"
    if not result.complete:
        yield "the run was cut off before its end"
    if result.isa is not None:
        variables = next((system.variables for system in result.systems if system.variables), {})
        settings = ", ".join(f"{name}={value}" for name, value in variables.items())
        yield f"peers held to {result.isa.upper()}" + (f" by {settings}" if settings else "")
    titles = {system.name: system.title for system in result.systems}
    for system in (system for system in result.systems if system.ours and system.texts):
        last = system.texts[-1]
        factors = {
            c.of: 1 / c.ratio for c in result.comparisons if (c.name, c.text) == (system.name, last.text)
        }
        gains = ", ".join(f"{factor:.1f}x of {titles[name]}" for name, factor in factors.items())
        yield f"{system.title}: {last.audio_s:.1f} s of speech in {_format_time(last.median_s)}" + (
            f"; speed: {gains}" if gains else ""
        )


def _tables(result: Result) -> Iterator[RenderableType]:
    yield _tabulate_speed(result)
    yield _tabulate_systems(result)
    if any(text.components for system in result.systems for text in system.texts):
        yield _tabulate_components(result)


def _make_table(title: str, left: str, *right: str) -> Table:
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in left.split(", "):
        table.add_column(heading)
    for heading in right:
        table.add_column(heading, justify="right", no_wrap=True)
    return table


def _tabulate_speed(result: Result) -> Table:
    table = _make_table("Speaking", "text, system", "audio", "median", "real time", "PyTorch", "memory")
    for text in result.texts:
        stock = next((s.on(text.name) for s in result.systems if s.name == "pytorch"), None)
        for system in result.systems:
            timing = system.on(text.name)
            cells = _timing_cells(timing, stock) if timing else [_status_of(system), *[""] * 4]
            table.add_row(text.name, _format_title(system), *cells)
        table.add_section()
    return table


def _timing_cells(timing: TextResult, stock: TextResult | None) -> list[str]:
    return [
        f"{timing.audio_s:.1f} s",
        _format_time(timing.median_s),
        f"{1 / timing.rtf:.1f}x",
        f"{stock.median_s / timing.median_s:.1f}x" if stock else "",
        "" if timing.peak_rss_bytes is None else f"{timing.peak_rss_bytes / 1e6:.0f} MB",
    ]


def _tabulate_systems(result: Result) -> Table:
    table = _make_table("Systems", "system, runs as, problem", "fidelity", "cold start", "on disk")
    for system in result.systems:
        table.add_row(
            _format_title(system),
            system.details,
            Text(system.problem or ""),  # square brackets are no markup
            "" if system.fidelity is None else f"{system.fidelity:.4f}",
            "" if system.cold_start_s is None else _format_time(system.cold_start_s),
            "" if system.disk_bytes is None else f"{system.disk_bytes / 1e6:.0f} MB",
        )
    return table


def _tabulate_components(result: Result) -> Table:
    table = _make_table("Components", "text, system, component", "time", "GFLOP", "GFLOP/s", "of peak")
    for text in result.texts:
        for system in result.systems:
            timing = system.on(text.name)
            for part in timing.components if timing else ():
                share = "" if part.share_of_peak is None else f"{part.share_of_peak:.0%}"
                cells = (f"{part.seconds_s * 1e3:.1f} ms", f"{part.flops / 1e9:.1f}")
                speed = f"{part.flops_per_s / 1e9:.0f}"
                table.add_row(text.name, _format_title(system), part.component, *cells, speed, share)
            if timing and timing.components:
                table.add_section()
    return table


def _describe_load(result: Result) -> str:
    if result.others_cores is None:
        return "cut off, so the load by others is unknown"
    load = f"others kept {result.others_cores:.1f} cores busy"
    return load if result.others_cores < _NOISY_CORES else f"{load}: measure again"


def _format_time(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds >= 1 else f"{seconds * 1e3:.0f} ms"


def _format_title(system: SystemResult) -> Text:
    return Text(system.title, style="bold" if system.ours else "")


def _status_of(system: SystemResult) -> str:
    return "failed" if (system.problem or "").startswith("failed") else "not run"
