"""kokoro-tvm doctor: says whether recipes can be built on this machine, and what is missing."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kokoro_tvm.cli._output import JsonOption, RootOption, spinner

if TYPE_CHECKING:
    from rich.table import Table

    from kokoro_tvm.builder.diagnostics.doctor import Finding


_STYLES = {"fine": "green", "note": "yellow", "wrong": "bold red"}
_RECIPE = "recipe "


def doctor(
    recipes: Annotated[
        list[str] | None, typer.Argument(help="Names of recipes to build.", show_default="cpu")
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Check all recipes, extras and languages.")
    ] = False,
    packages: Annotated[
        bool,
        typer.Option("--packages", help="Only print the Debian packages that the recipes need, one a line."),
    ] = False,
    json: JsonOption = False,
    root: RootOption = Path(),
) -> None:
    """Say whether a recipe can be built here, and what is missing.

    Checks versions, compilers, linkers, processor, memory and disk, and prints what to do. The exit status is
    1 if something is wrong.
    """
    from dataclasses import asdict

    from kokoro_tvm.builder.diagnostics.doctor import examine
    from kokoro_tvm.builder.needs import debian_packages
    from kokoro_tvm.cli._output import console, print_json
    from kokoro_tvm.common.errors import InputError
    from kokoro_tvm.recipe import list_recipes, load_recipe

    if everything and recipes:
        raise InputError("--all checks all recipes. Leave out their names.")
    if packages:
        names = recipes or list_recipes(root / "recipes")
        for package in debian_packages(load_recipe(name, root / "recipes") for name in names):
            typer.echo(package)
        return
    with spinner("checking this machine"):
        findings = examine(root, None if everything else recipes or ["cpu"])
    if json:
        print_json([asdict(finding) for finding in findings])
    else:
        out = console(markup=False)
        out.print(table([f for f in findings if everything or not f.about.startswith(_RECIPE)]), "")
        for line in summarize(findings, everything):
            out.print(line, soft_wrap=True)
    raise typer.Exit(int(any(finding.verdict == "wrong" for finding in findings)))


def summarize(findings: Sequence[Finding], everything: bool) -> list[str]:
    """Return what can be built here, and what a build of the others lacks."""
    wrong = [f.about for f in findings if f.verdict == "wrong" and not f.about.startswith(_RECIPE)]
    recipes = [finding for finding in findings if finding.about.startswith(_RECIPE)]
    if everything:
        count = sum(" can be built " in f" {recipe.message} " for recipe in recipes)
        lines = [f"{count} of {len(recipes)} recipes can be built here."]
    else:
        lines = [f"{recipe.about.removeprefix(_RECIPE)} {recipe.message}." for recipe in recipes]
        lines.append("For other recipes and extras: kokoro-tvm doctor --all")
    return [f"To mend first: {', '.join(wrong)}.", *lines] if wrong else lines


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
