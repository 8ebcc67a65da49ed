"""kokoro-tvm gc: frees what earlier builds left in the store."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kokoro_tvm.cli._output import JsonOption, RootOption

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Adds the command `gc`."""
    app.command("gc")(gc)


def gc(
    keep: Annotated[int, typer.Option("--keep", min=0, help="Builds of every stage to keep, the newest.")],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what it would free.")] = False,
    json: JsonOption = False,
    root: RootOption = Path(),
) -> None:
    """Remove earlier builds from the store.

    The newest of every stage stay, and so does all that is current.
    """
    from dataclasses import asdict

    from kokoro_tvm.build.project import Project
    from kokoro_tvm.build.units import shown_bytes
    from kokoro_tvm.cli._output import print_json

    project = Project.open(root)
    freed = project.store.gc(project.worth_keeping(keep), dry_run=dry_run)
    if json:
        print_json({"dry_run": dry_run, **asdict(freed)})
        return
    typer.echo(
        f"{shown_bytes(freed.bytes)} {'would be freed' if dry_run else 'freed'}: {freed.records} builds of "
        f"stages, {freed.objects} files of theirs, {freed.temporaries} folders of builds that were killed"
    )
