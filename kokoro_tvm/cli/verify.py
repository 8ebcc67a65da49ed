"""kokoro-tvm verify: reads again what was built, and compares it with what its records say."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kokoro_tvm.cli._output import JsonOption, RootOption

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Adds the command `verify`."""
    app.command("verify")(verify)


def verify(
    recipes: Annotated[
        list[str] | None, typer.Argument(help="Recipes whose outputs to read.", show_default="all")
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Also read what earlier builds left in the store.")
    ] = False,
    json: JsonOption = False,
    root: RootOption = Path(),
) -> None:
    """Read every output again and compare digests.

    Exit status 5 where a file of a bundle is damaged or missing, 3 where another is.
    """
    from dataclasses import asdict

    from kokoro_tvm.build.project import Project
    from kokoro_tvm.build.units import shown_bytes
    from kokoro_tvm.cli._output import print_json
    from kokoro_tvm.errors import BuildError, BundleError
    from kokoro_tvm.telling.verify import verify as read_again

    found = read_again(Project.open(root, paranoid=True), recipes, everything)
    if json:
        print_json({**asdict(found), "faults": [asdict(f) | {"path": str(f.path)} for f in found.faults]})
    else:
        for fault in found.faults:
            typer.echo(f"{fault.path}: {fault.told}")
        typer.echo(
            f"{found.files} files read, {shown_bytes(found.bytes)}: {len(found.faults)} damaged or missing"
        )
    if found.faults:
        kind = BundleError if any(f.in_bundle for f in found.faults) else BuildError
        raise kind(
            f"{len(found.faults)} files are not as they were written: `doit` brings them back from the store "
            "or by building them again"
        )
