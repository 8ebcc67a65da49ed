"""What the commands that print tables have in common: a console for terminals and files, options, JSON."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console
    from rich.table import Table

__all__ = [
    "JsonFileOption",
    "JsonOption",
    "RootOption",
    "check_file",
    "console",
    "grid",
    "print_json",
    "progress",
    "table",
    "write_json",
]

_WIDTH = 132  # where output goes to a file

RootOption: TypeAlias = Annotated[
    Path, typer.Option("--root", metavar="DIR", help="The folder with `recipes/` and `artifacts/`.")
]
JsonOption: TypeAlias = Annotated[bool, typer.Option("--json", help="Print JSON.")]
JsonFileOption: TypeAlias = Annotated[
    Path | None, typer.Option("--json", metavar="FILE", help="Write the whole result to this JSON file.")
]


def console(markup: bool = True) -> Console:
    """A console with colour on a terminal; plain and wider elsewhere.

    Without markup, text is printed as it is: brackets are brackets.
    """
    from rich.console import Console

    made = Console(markup=markup, emoji=markup, highlight=markup)
    if made.is_terminal:
        return made
    return Console(width=_WIDTH, color_system=None, markup=markup, emoji=markup, highlight=markup)


def print_json(value: Any) -> None:
    """Prints it as indented JSON."""
    import json

    unicode = (sys.stdout.encoding or "").lower().startswith("utf")
    typer.echo(json.dumps(value, indent=1, ensure_ascii=not unicode))


def progress(line: str) -> None:
    """Prints progress on standard error."""
    typer.secho(line, err=True)


def grid() -> Table:
    """An empty table without borders: name, state, number, remarks."""
    from rich.table import Table

    made = Table.grid(padding=(0, 2))
    made.add_column(no_wrap=True)
    made.add_column(no_wrap=True)
    made.add_column(no_wrap=True, justify="right")
    made.add_column(overflow="fold")
    return made


def table(first: str, headings: Sequence[str], title: str | None = None, last: str | None = None) -> Table:
    """An empty table: a column of names, columns of numbers, and one of words where it has a heading."""
    from rich import box
    from rich.table import Table

    made = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    made.add_column(first, no_wrap=True)
    for heading in headings:
        made.add_column(heading, justify="right")
    if last is not None:
        made.add_column(last)
    return made


def check_file(*paths: Path | None) -> None:
    """Raise InputError if a file could not be written, or two are one. Call it before what takes time."""
    from kokoro_tvm.common.output import check_distinct, check_place

    for path in paths:
        if path is not None:
            check_place(path)
    check_distinct((), paths)


def write_json(path: Path | None, data: Any) -> None:
    """Writes a JSON file, completely or not at all, and prints its path. Does nothing without a path."""
    if path is None:
        return
    import json

    from kokoro_tvm.common.output import is_stream, write_text

    write_text(path, json.dumps(data, indent=1, ensure_ascii=False, allow_nan=False) + "\n")
    typer.echo(f"{path}", err=is_stream(path))
