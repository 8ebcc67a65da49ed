"""kokoro-tvm doctor: checks whether this machine has what a build needs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kokoro_tvm.cli._output import JsonOption, RootOption

if TYPE_CHECKING:
    from rich.table import Table

    from kokoro_tvm.builder.diagnostics.doctor import Finding

__all__ = ["doctor"]

_STYLES = {"fine": "green", "note": "yellow", "wrong": "bold red"}


def doctor(
    recipes: Annotated[
        list[str] | None, typer.Argument(help="Names of recipes, for --packages.", show_default="all")
    ] = None,
    packages: Annotated[
        bool,
        typer.Option("--packages", help="Only print the Debian packages that the recipes need, one a line."),
    ] = False,
    json: JsonOption = False,
    root: RootOption = Path(),
) -> None:
    """Check whether this machine has what a build needs.

    Checks versions, compiler, linker, processor, memory and disk, and prints what to do. The exit status is 1
    if something is wrong.
    """
    from dataclasses import asdict

    from kokoro_tvm.builder.diagnostics.doctor import examine
    from kokoro_tvm.builder.needs import debian_packages
    from kokoro_tvm.cli._output import console, print_json
    from kokoro_tvm.common.errors import InputError
    from kokoro_tvm.recipe import list_recipes, load_recipe

    if packages:
        names = recipes or list_recipes(root / "recipes")
        for package in debian_packages(load_recipe(name, root / "recipes") for name in names):
            typer.echo(package)
        return
    if recipes:
        raise InputError("Recipes are named with --packages alone; `kokoro-tvm doctor` judges all of them.")
    findings = examine(root)
    if json:
        print_json([asdict(f) for f in findings])
    else:
        out = console(markup=False)
        out.print(table(findings))
        out.print(f"\n{_sum(findings)}")
    raise typer.Exit(int(any(f.verdict == "wrong" for f in findings)))


def table(findings: Sequence[Finding]) -> Table:
    """A line for every finding, and one for its remedy."""
    from rich.table import Table
    from rich.text import Text

    made = Table.grid(padding=(0, 2))
    made.add_column(no_wrap=True)
    made.add_column(no_wrap=True)
    made.add_column(overflow="fold")
    for f in findings:
        made.add_row(Text(f.verdict, _STYLES[f.verdict]), Text(f.about), Text(f.message))
        if f.remedy:
            made.add_row("", "", Text(f"→ {f.remedy}", "bold"))
    return made


def _sum(findings: Sequence[Finding]) -> str:
    wrong, notes = (sum(f.verdict == v for f in findings) for v in ("wrong", "note"))
    if wrong:
        return f"{wrong} of {len(findings)} checks failed: a build would fail."
    also = f", {notes} of them with a note" if notes else ""
    return f"All {len(findings)} checks passed{also}."
