"""Print a result as tables."""

from __future__ import annotations

from collections.abc import Iterator

from rich import box
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from kokoro_tvm.tools.bench.results import Result, SystemResult, TextResult

_NOISY_CORES = 0.1  # a thread that waits for an interrupted one waits for milliseconds


def print_result(result: Result, console: Console) -> None:
    """Print all tables of a result."""
    console.print(Group(*_render_parts(result)))


def _render_parts(result: Result) -> Iterator[RenderableType]:
    """Yield what `print_result` prints."""
    yield Text(f"{result.machine}\n{result.threads} threads, {result.rounds} rounds, voice {result.voice}")
    if not result.complete:
        yield Text("the run was cut off before its end")
    if result.isa is not None:
        variables = next((system.variables for system in result.systems if system.variables), {})
        settings = ", ".join(f"{name}={value}" for name, value in variables.items())
        yield Text(f"peers held to {result.isa.upper()}" + (f" by {settings}" if settings else ""))
    yield Text(
        "peak: "
        + ", ".join(f"{flops / 1e9:.0f} GFLOP/s in {name}" for name, flops in result.peak_flops_per_s.items())
    )
    yield Text(_describe_noise(result))
    yield _tabulate_speed(result)
    yield _tabulate_systems(result)
    if any(text.components for system in result.systems for text in system.texts):
        yield _tabulate_components(result)
    for line in comparison_lines(result):
        yield Text(line)


def _make_table(title: str, left: str, *right: str) -> Table:
    """Return an empty table with left-aligned columns, comma-separated, then right-aligned ones."""
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in left.split(", "):
        table.add_column(heading)
    for heading in right:
        table.add_column(heading, justify="right", no_wrap=True)
    return table


def _tabulate_speed(result: Result) -> Table:
    """Return the table of times and memory by text and system."""
    right = ("audio", "median", "minimum", "RTF", "of PyTorch", "first call", "peak memory")
    table = _make_table("Speaking", "text, system", *right)
    for text in result.texts:
        stock = next((s.on(text.name) for s in result.systems if s.name == "pytorch"), None)
        for system in result.systems:
            timing = system.on(text.name)
            cells = _timing_cells(timing, stock) if timing else [_status_of(system), *[""] * 6]
            table.add_row(text.name, _format_title(system), *cells)
        table.add_section()
    return table


def _timing_cells(timing: TextResult, stock: TextResult | None) -> list[str]:
    """Format a text's times, and their share of the stock model's."""
    return [
        f"{timing.audio_s:.2f} s",
        f"{timing.median_s:.3f} s",
        f"{timing.minimum_s:.3f} s",
        f"{timing.rtf:.3f}",
        f"{timing.median_s / stock.median_s:.2f}" if stock else "",
        f"{timing.first_s:.3f} s",
        "" if timing.peak_rss_bytes is None else f"{timing.peak_rss_bytes / 1e6:.0f} MB",
    ]


def _tabulate_systems(result: Result) -> Table:
    """Return the table of cold starts, versions and sizes."""
    right = ("cold start", "of it imports", "of PyTorch", "on disk")
    table = _make_table("Systems", "system, runs as, versions, problem", *right)
    stock = next((s.cold_start_s for s in result.systems if s.name == "pytorch"), None)
    for system in result.systems:
        cold = system.cold_start_s
        table.add_row(
            _format_title(system),
            system.details,
            ", ".join(f"{name} {version}" for name, version in system.versions.items()),
            Text(system.problem or ""),  # square brackets are no markup
            "" if cold is None else f"{cold:.2f} s",
            "" if system.import_s is None else f"{system.import_s:.2f} s",
            f"{cold / stock:.2f}" if cold is not None and stock else "",
            "" if system.disk_bytes is None else f"{system.disk_bytes / 1e6:.0f} MB",
        )
    return table


def _tabulate_components(result: Result) -> Table:
    """Return the table of the bundles' components by text."""
    table = _make_table(
        "Components", "text, system, component", "seconds", "GFLOP", "GFLOP/s", "share of peak"
    )
    for text in result.texts:
        for system in result.systems:
            timing = system.on(text.name)
            for part in timing.components if timing else ():
                share = "" if part.share_of_peak is None else f"{part.share_of_peak:.0%}"
                speed = f"{part.flops_per_s / 1e9:.0f}"
                cells = (f"{part.seconds_s:.4f} s", f"{part.flops / 1e9:.2f}", speed, share)
                table.add_row(text.name, _format_title(system), part.component, *cells)
            if timing and timing.components:
                table.add_section()
    return table


def comparison_lines(result: Result) -> Iterator[str]:
    """Yield a line for every bundle and text: its share of the peers' time."""
    titles = {system.name: system.title for system in result.systems}
    for name in dict.fromkeys(c.name for c in result.comparisons):
        for text in result.texts:
            notes = [
                f"{c.ratio:.2f} of {titles[c.of]}" + ("" if c.against == "pytorch" else f" ({c.against})")
                for c in result.comparisons
                if (c.name, c.text) == (name, text.name)
            ]
            if notes:
                yield f"{titles[name]}, {text.name}: {', '.join(notes)}"


def _describe_noise(result: Result) -> str:
    """Say how busy other processes were."""
    if result.others_cores is None:
        return "how busy other processes were is unknown, because the run was cut off"
    busy = f"other processes kept {result.others_cores:.2f} cores busy meanwhile"
    return busy if result.others_cores < _NOISY_CORES else f"{busy}: measure again on a quiet machine"


def _format_title(system: SystemResult) -> Text:
    """Return a system's title, bold for bundles."""
    return Text(system.title, style="bold" if system.ours else "")


def _status_of(system: SystemResult) -> str:
    """Return why a system has no times: `failed` or `not run`."""
    return "failed" if (system.problem or "").startswith("failed") else "not run"
