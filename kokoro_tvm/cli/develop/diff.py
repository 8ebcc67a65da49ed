"""kokoro-tvm diff: compares two recipes or bundles."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kokoro_tvm.cli._output import JsonOption, RootOption

if TYPE_CHECKING:
    from kokoro_tvm.builder.diagnostics.diff import Side
    from kokoro_tvm.builder.project import Project

__all__ = ["diff"]

_PHONEMES = "ðə mˈɔɹnɪŋ tɹˈAn kɹˈɔsᵻz ðə ɡɹˈin vˈæli slˈOli."
_SideArgument = Annotated[str, typer.Argument(help="A recipe (`cpu`), or the folder of a bundle.")]


def diff(
    before: _SideArgument,
    now: _SideArgument,
    audio: Annotated[
        bool,
        typer.Option("--audio", help="Also speak a sentence with both bundles, and compare the audio."),
    ] = False,
    json: JsonOption = False,
    root: RootOption = Path(),
) -> None:
    """Show the differences of two recipes or bundles.

    Prints values of the recipe, stages whose keys differ and why, versions of the toolchain, files and their
    sizes, and measurements: gates, phonemes, speed.
    """
    from dataclasses import asdict

    from kokoro_tvm.builder.diagnostics.diff import diff as compare_sides
    from kokoro_tvm.builder.project import Project
    from kokoro_tvm.cli._output import print_json

    project = Project.open(root)
    sides = _side(before, project), _side(now, project)
    differences = compare_sides(*sides)
    audio_difference = _compare_audio(*sides) if audio else None
    if json:
        sections: dict[str, Any] = {name: [asdict(row) for row in rows] for name, rows in differences.items()}
        print_json(sections | ({"audio": audio_difference} if audio_difference else {}))
        return
    for name, rows in differences.items():
        if rows:
            typer.echo(f"{name}:")
        width = max((len(row.what) for row in rows), default=0)
        for row in rows:
            typer.echo(f"  {row.what:<{width}}  {row.before or '—'} → {row.now or '—'}")
    if audio_difference:
        old, new, snr = audio_difference.values()
        typer.echo(f"audio:\n  {old:.3f} s → {new:.3f} s, SNR {snr:.1f} dB")
    if not any(differences.values()):
        typer.echo(f"{before} and {now} do not differ in anything that is known of both.")


def _side(word: str, project: Project) -> Side:
    """Return the recipe of that name, or else the bundle in that folder."""
    from kokoro_tvm.builder.diagnostics.diff import Side

    if word in project.recipes():
        return Side.of_recipe(project.graph(word))
    if (Path(word) / "bundle.json").is_file():
        return Side.of_bundle(Path(word))
    return Side.of_recipe(project.graph(word))  # its error lists the recipes


def _compare_audio(before: Side, now: Side) -> dict[str, float]:
    """Speak a sentence with both, and return the durations (s) and the SNR (dB) of the shorter duration."""
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
