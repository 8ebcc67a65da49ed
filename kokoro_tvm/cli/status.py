"""kokoro-tvm status: how everything that recipes build stands."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kokoro_tvm.cli._output import JsonOption, RootOption, grid

if TYPE_CHECKING:
    from rich.table import Table

    from kokoro_tvm.telling.status import Row

__all__ = ["register", "table"]

STYLES = {"current": "green", "stale": "yellow", "missing": "dim", "damaged": "red", "failed": "bold red"}


def register(app: typer.Typer) -> None:
    """Adds the command `status`."""
    app.command("status")(status)


def status(
    recipes: Annotated[
        list[str] | None, typer.Argument(help="Recipes to look at.", show_default="all that were built")
    ] = None,
    json: JsonOption = False,
    root: RootOption = Path(),
) -> None:
    """Show how every artifact stands.

    It is current, stale, missing, damaged or failed; with its size and what its gates say.
    """
    from dataclasses import asdict

    from kokoro_tvm.build.project import Project
    from kokoro_tvm.cli._output import open_console, print_json
    from kokoro_tvm.telling.status import status as status_of

    project = Project.open(root)
    graphs = [project.graph(name) for name in recipes or project.recipes()]
    told = {graph.recipe.name: status_of(graph) for graph in graphs}
    if json:
        print_json({name: [asdict(row) for row in rows] for name, rows in told.items()})
        return
    built = told if recipes else {name: rows for name, rows in told.items() if rows[-1].size is not None}
    console = open_console()
    seen: dict[str, Row] = {}
    for rows in built.values():
        seen |= {row.name: row for row in rows}
    if seen:
        console.print(table(list(seen.values())))
    if never := [name for name in told if name not in built]:
        console.print(f"{'Never built' if not seen else 'Other recipes, never built'}: {', '.join(never)}")


def table(rows: Sequence[Row]) -> Table:
    """A line for every row."""
    from rich.text import Text

    from kokoro_tvm.build.units import shown_bytes

    made = grid()
    for row in rows:
        size = "" if row.size is None else shown_bytes(row.size)
        # Its own stages are many; what is wrong with a thing of one stage needs no name.
        where = [name.split(".")[1] for name in row.stages if name != row.name]
        told = "; ".join(filter(None, (row.gates, f"{row.state}: {', '.join(where)}" if where else "")))
        made.add_row(Text(row.name), Text(row.state, STYLES[row.state]), size, Text(told))
    return made
