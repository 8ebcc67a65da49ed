"""kokoro-tvm voices: which voices a bundle has."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Adds the command `voices`."""
    app.command("voices")(voices)


def voices(
    bundle: Annotated[Path, typer.Option("--bundle", metavar="DIR", help="Bundle to look into.")] = Path(
        "artifacts/cpu"
    ),
) -> None:
    """List the voices of a bundle with language and gender."""
    from kokoro_tvm.runtime import Voices, describe, read_bundle
    from kokoro_tvm.runtime.verification import verify_files

    opened = read_bundle(bundle)
    verify_files([opened.voices])
    found = Voices.open(opened).names
    width = max(map(len, found))
    for info in map(describe, found):
        typer.echo(f"{info.name:<{width}}  {info.language:<20}  {info.gender}")
