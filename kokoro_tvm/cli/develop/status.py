"""kokoro-tvm status: shows the state of everything that recipes build."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kokoro_tvm.cli._output import JsonOption, RootOption, grid, spinner

if TYPE_CHECKING:
    from rich.table import Table

    from kokoro_tvm.builder.diagnostics.status import StatusRow


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

    from kokoro_tvm.builder.diagnostics.status import collect_status
    from kokoro_tvm.builder.project import Project
    from kokoro_tvm.cli._output import console, print_json

    project = Project.open(root)
    with spinner("reading the store"):
        statuses = {name: collect_status(project.graph(name)) for name in recipes or project.recipes()}
    if json:
        print_json({name: [asdict(row) for row in rows] for name, rows in statuses.items()})
        return
    # The last row is the bundle's.
    never = [name for name, rows in statuses.items() if not recipes and rows[-1].size is None]
    rows = {row.name: row for name, own in statuses.items() if name not in never for row in own}
    out = console(markup=False)
    if rows:
        out.print(_table([*rows.values()]))
    if never:
        out.print(f"{'Other recipes, never built' if rows else 'Never built'}: {', '.join(never)}")


def _table(rows: Sequence[StatusRow]) -> Table:
    from rich.filesize import decimal
    from rich.text import Text

    table = grid()
    for row in rows:
        size = "" if row.size is None else decimal(row.size)
        # A row of one stage has that stage's name already.
        stages = [name.split(".")[1] for name in row.stages if name != row.name]
        state = f"{row.state}: {', '.join(stages)}" if stages else ""
        remarks = "; ".join(filter(None, (row.gates, state, row.problem)))
        table.add_row(Text(row.name), Text(row.state, STYLES[row.state]), size, Text(remarks))
    return table
