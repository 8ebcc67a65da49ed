"""kokoro-tvm verify: reads all outputs again and compares them with their records."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kokoro_tvm.cli._output import JsonOption, RootOption

__all__ = ["verify"]


def verify(
    recipes: Annotated[list[str] | None, typer.Argument(help="Names of recipes.", show_default="all")] = None,
    everything: Annotated[
        bool,
        typer.Option("--all", help="Also read everything in the store, including earlier builds."),
    ] = False,
    json: JsonOption = False,
    root: RootOption = Path(),
) -> None:
    """Read every output again and compare digests.

    The exit status is 5 if a file of a bundle is damaged or missing, 3 if only other files are.
    """
    from dataclasses import asdict

    from rich.filesize import decimal

    from kokoro_tvm.cli._output import print_json
    from kokoro_tvm.diagnostics.verify import verify as read_again
    from kokoro_tvm.errors import BuildError, BundleError
    from kokoro_tvm.project.project import Project

    found = read_again(Project.open(root, paranoid=True), recipes, everything)
    if json:
        print_json({**asdict(found), "faults": [asdict(f) | {"path": str(f.path)} for f in found.faults]})
    else:
        for fault in found.faults:
            typer.echo(f"{fault.path}: {fault.problem}")
        typer.echo(
            f"{found.files} files read, {decimal(found.bytes)}: {len(found.faults)} damaged or missing"
        )
    if found.faults:
        kind = BundleError if any(f.in_bundle for f in found.faults) else BuildError
        raise kind(
            f"`doit` restores the {len(found.faults)} damaged or missing files from the store, or builds "
            "them again"
        )
