"""kokoro-tvm diff: what differs between two recipes or bundles."""

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
_What = Annotated[str, typer.Argument(help="A recipe (`cpu`), or the folder of a bundle.")]


def diff(
    before: _What,
    now: _What,
    audio: Annotated[
        bool,
        typer.Option("--audio", help="Also speak a sentence with both bundles and compare what is heard."),
    ] = False,
    json: JsonOption = False,
    root: RootOption = Path(),
) -> None:
    """Show what differs between two recipes, two bundles, or a bundle and an earlier one.

    Prints values of the recipe, stages whose keys differ and why, versions of the toolchain, files and their
    sizes, and what was measured: gates, phonemes, speed.
    """
    from dataclasses import asdict

    from kokoro_tvm.builder.diagnostics.diff import diff as differences
    from kokoro_tvm.builder.project import Project
    from kokoro_tvm.cli._output import print_json

    project = Project.open(root)
    sides = _side(before, project), _side(now, project)
    found = differences(*sides)
    heard = _heard(*sides) if audio else None
    if json:
        sections: dict[str, Any] = {name: [asdict(each) for each in rows] for name, rows in found.items()}
        print_json(sections | ({"audio": heard} if heard else {}))
        return
    for name, rows in found.items():
        if rows:
            typer.echo(f"{name}:")
        width = max((len(each.what) for each in rows), default=0)
        for each in rows:
            typer.echo(f"  {each.what:<{width}}  {each.before or '—'} → {each.now or '—'}")
    if heard:
        typer.echo("audio:")
        typer.echo(
            f"  {heard['seconds_before']:.3f} s → {heard['seconds_now']:.3f} s, SNR {heard['snr_db']:.1f} dB"
        )
    if not any(found.values()):
        typer.echo(f"{before} and {now} differ in nothing that is known of both.")


def _side(word: str, project: Project) -> Side:
    """A recipe where there is one of the name, otherwise the folder of a bundle."""
    from kokoro_tvm.builder.diagnostics.diff import Side

    if word in project.recipes():
        return Side.of_recipe(project.graph(word))
    if (Path(word) / "bundle.json").is_file():
        return Side.of_bundle(Path(word))
    return Side.of_recipe(project.graph(word))  # which says what there is instead


def _heard(before: Side, now: Side) -> dict[str, float]:
    """One sentence by both: seconds of each, and the signal-to-noise ratio over what both have, dB."""
    from kokoro_tvm.common.errors import InputError
    from kokoro_tvm.runtime import Synthesizer
    from kokoro_tvm.validation.measure.metrics import snr_db

    spoken = []
    for side in (before, now):
        if side.bundle is None:
            raise InputError(
                f"--audio: {side.name} is not built; build it first: kokoro-tvm build {side.name}"
            )
        synthesizer = Synthesizer(side.bundle)
        spoken.append(synthesizer.from_phonemes([_PHONEMES]))
    first, second = spoken
    shorter = min(len(first.audio), len(second.audio))
    return {
        "seconds_before": len(first.audio) / first.sample_rate,
        "seconds_now": len(second.audio) / second.sample_rate,
        "snr_db": snr_db(second.audio[:shorter], first.audio[:shorter]),
    }
