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

__all__ = ["doctor", "table"]

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

    Checks versions, compilers, linkers, processor, memory and disk, and prints what to do. The exit status is
    1 if something is wrong.
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
        raise InputError("Names of recipes need --packages; `kokoro-tvm doctor` checks all recipes.")
    findings = examine(root)
    wrong, notes = (sum(finding.verdict == verdict for finding in findings) for verdict in ("wrong", "note"))
    if json:
        print_json([asdict(finding) for finding in findings])
    else:
        out = console(markup=False)
        out.print(table(findings), "")
        remark = f", {notes} of them with a note" if notes else ""
        out.print(
            f"{wrong} of {len(findings)} checks failed: a build would fail."
            if wrong
            else f"All {len(findings)} checks passed{remark}."
        )
    raise typer.Exit(int(wrong > 0))


def table(findings: Sequence[Finding]) -> Table:
    """Return a table with a line for each finding, and one for its remedy."""
    from rich.table import Table
    from rich.text import Text

    rows = Table.grid(padding=(0, 2))
    rows.add_column(no_wrap=True)
    rows.add_column(no_wrap=True)
    rows.add_column(overflow="fold")
    for finding in findings:
        verdict = Text(finding.verdict, _STYLES[finding.verdict])
        rows.add_row(verdict, Text(finding.about), Text(finding.message))
        if finding.remedy:
            rows.add_row("", "", Text(f"→ {finding.remedy}", "bold"))
    return rows
