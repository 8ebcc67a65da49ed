"""kokoro-tvm diff: compares two recipes or bundles."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kokoro_tvm.cli._output import JsonOption, RootOption, spinner
from kokoro_tvm.common.words import round_number

if TYPE_CHECKING:
    from rich.table import Table

    from kokoro_tvm.builder.diagnostics.diff import Side, ValueDifference
    from kokoro_tvm.builder.project import Project


_DETAILS = ("stages", "files")  # sections that only --all prints
_MAX_ROWS = 12  # of a section without --all
_MAX_NAME = 40
_LONG_NUMBER = re.compile(r"-?\d+\.\d\d+")
_PHONEMES = "ðə mˈɔɹnɪŋ tɹˈAn kɹˈɔsᵻz ðə ɡɹˈin vˈæli slˈOli."
_SideArgument = Annotated[str, typer.Argument(help="A recipe (`cpu`), or the folder of a bundle.")]


def diff(
    before: _SideArgument,
    now: _SideArgument,
    everything: Annotated[
        bool, typer.Option("--all", help="Print every difference, also of stages and files.")
    ] = False,
    audio: Annotated[
        bool, typer.Option("--audio", help="Also speak a sentence with both bundles, and compare the audio.")
    ] = False,
    json: JsonOption = False,
    root: RootOption = Path(),
) -> None:
    """Show the differences of two recipes or bundles.

    Prints a summary, then values of the recipe, versions of the toolchain, and measurements: gates, phonemes,
    speed. `--all` adds stages whose keys differ and why, and files.
    """
    from dataclasses import asdict

    from kokoro_tvm.builder.diagnostics.diff import diff as compare_sides
    from kokoro_tvm.builder.project import Project
    from kokoro_tvm.cli._output import console, print_json

    project = Project.open(root)
    with spinner("reading the store"):
        sides = _side(before, project), _side(now, project)
        differences = compare_sides(*sides)
    audio_difference = _compare_audio(*sides) if audio else None
    if json:
        sections: dict[str, Any] = {name: [asdict(row) for row in rows] for name, rows in differences.items()}
        print_json(sections | ({"audio": audio_difference} if audio_difference else {}))
        return
    out = console(markup=False)
    if not any(differences.values()):
        out.print(f"{before} and {now} do not differ in anything that is known of both.", soft_wrap=True)
    else:
        out.print(f"{before} → {now}", soft_wrap=True)
        for name, rows in differences.items():
            out.print(f"  {name:<9}  {_summarize(rows)}", soft_wrap=True)
    for name, rows in differences.items():
        shown = rows if everything else [] if name in _DETAILS else rows[:_MAX_ROWS]
        if shown:
            out.print(f"\n{name}:")
            out.print(_table(shown))
        if shown and len(rows) > len(shown):
            out.print(f"  and {len(rows) - len(shown)} more: --all")
    if audio_difference:
        old, new, snr = audio_difference.values()
        out.print(f"\naudio:\n  {old:.3f} s → {new:.3f} s, SNR {snr:.1f} dB")


def _summarize(rows: Sequence[ValueDifference]) -> str:
    """Return how many rows there are, and how many only one side has."""
    if not rows:
        return "the same"
    removed, added = sum(not row.now for row in rows), sum(not row.before for row in rows)
    parts = [f"{len(rows) - removed - added} differ", f"{removed} removed", f"{added} added"]
    return ", ".join(part for part in parts if not part.startswith("0 "))


def _table(rows: Sequence[ValueDifference]) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column()
    table.add_column(overflow="fold", max_width=_MAX_NAME)
    table.add_column(overflow="fold")
    for row in rows:
        table.add_row("", Text(row.what), Text(f"{_round(row.before)} → {_round(row.now)}"))
    return table


def _round(text: str) -> str:
    """Return a number with many decimals with few, and any other text as it is."""
    if not text:
        return "—"
    return round_number(float(text)) if _LONG_NUMBER.fullmatch(text) else text


def _side(word: str, project: Project) -> Side:
    """Return the recipe of that name, or else the bundle in that folder."""
    from kokoro_tvm.builder.diagnostics.diff import Side

    if word in project.recipes():
        return Side.of_recipe(project.graph(word))
    if (Path(word) / "bundle.json").is_file():
        return Side.of_bundle(Path(word))
    return Side.of_recipe(project.graph(word))  # its error lists the recipes


def _compare_audio(before: Side, now: Side) -> dict[str, float]:
    """Speak a sentence with both; return the durations (s) and the SNR (dB) of the shorter duration.

    Raises InputError if one is not built.
    """
    from kokoro_tvm.common.errors import InputError
    from kokoro_tvm.runtime import Synthesizer
    from kokoro_tvm.validation.measure.metrics import snr_db

    speeches = []
    for side in (before, now):
        if side.bundle is None:
            raise InputError(
                f"--audio: {side.name} is not built; build it first: kokoro-tvm build {side.name}"
            )
        synthesizer = Synthesizer(side.bundle)
        speeches.append(synthesizer.from_phonemes([_PHONEMES]))
    first, second = speeches
    shorter = min(len(first.audio), len(second.audio))
    return {
        "seconds_before": len(first.audio) / first.sample_rate,
        "seconds_now": len(second.audio) / second.sample_rate,
        "snr_db": snr_db(second.audio[:shorter], first.audio[:shorter]),
    }
