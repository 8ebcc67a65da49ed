"""kokoro-tvm status: the state of everything that recipes build."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kokoro_tvm.cli._output import JsonOption, RootOption, grid

if TYPE_CHECKING:
    from rich.table import Table

    from kokoro_tvm.builder.diagnostics.status import StatusRow

__all__ = ["status", "table"]

STYLES = {"current": "green", "stale": "yellow", "missing": "dim", "damaged": "red", "failed": "bold red"}


def status(
    recipes: Annotated[
        list[str] | None, typer.Argument(help="Names of recipes.", show_default="all that were built")
    ] = None,
    json: JsonOption = False,
    root: RootOption = Path(),
) -> None:
    """Show the state, size and gates of every artifact.

    An artifact is current, stale, missing, damaged or failed.
    """
    from dataclasses import asdict

    from kokoro_tvm.builder.diagnostics.status import status as status_of
    from kokoro_tvm.builder.project import Project
    from kokoro_tvm.cli._output import console, print_json

    project = Project.open(root)
    graphs = [project.graph(name) for name in recipes or project.recipes()]
    found = {graph.recipe.name: status_of(graph) for graph in graphs}
    if json:
        print_json({name: [asdict(row) for row in rows] for name, rows in found.items()})
        return
    built = found if recipes else {name: rows for name, rows in found.items() if rows[-1].size is not None}
    out = console(markup=False)
    seen: dict[str, StatusRow] = {}
    for rows in built.values():
        seen |= {row.name: row for row in rows}
    if seen:
        out.print(table(list(seen.values())))
    if never := [name for name in found if name not in built]:
        out.print(f"{'Never built' if not seen else 'Other recipes, never built'}: {', '.join(never)}")


def table(rows: Sequence[StatusRow]) -> Table:
    """A line for every row."""
    from rich.filesize import decimal
    from rich.text import Text

    made = grid()
    for row in rows:
        size = "" if row.size is None else decimal(row.size)
        # A row of one stage has that stage's name already.
        where = [name.split(".")[1] for name in row.stages if name != row.name]
        stages = f"{row.state}: {', '.join(where)}" if where else ""
        remarks = "; ".join(filter(None, (row.gates, stages, row.problem)))
        made.add_row(Text(row.name), Text(row.state, STYLES[row.state]), size, Text(remarks))
    return made
