"""Shared parts of commands: common options, the console, tables, JSON."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

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
    "print_json_items",
    "progress",
    "table",
    "write_json",
]

_WIDTH = 132  # columns of output that does not go to a terminal

RootOption: TypeAlias = Annotated[
    Path, typer.Option("--root", metavar="DIR", help="The folder with `recipes/` and `artifacts/`.")
]
JsonOption: TypeAlias = Annotated[bool, typer.Option("--json", help="Print JSON.")]
JsonFileOption: TypeAlias = Annotated[
    Path | None, typer.Option("--json", metavar="FILE", help="Write the whole result to this JSON file.")
]


def console(markup: bool = True) -> Console:
    """Return a console with colour on a terminal; a plain and wider one elsewhere.

    Args:
        markup: Whether `[bold]` and the like are markup; otherwise text is printed as it is.
    """
    from rich.console import Console

    terminal = Console(markup=markup, emoji=markup, highlight=markup)
    if terminal.is_terminal:
        return terminal
    return Console(width=_WIDTH, color_system=None, markup=markup, emoji=markup, highlight=markup)


def print_json_items(values: Iterable[Any]) -> None:
    """Print values as an indented JSON list, each as it comes."""
    import json

    unicode = (sys.stdout.encoding or "").lower().startswith("utf")
    before = "["
    for value in values:
        typer.echo(before + json.dumps(value, indent=1, ensure_ascii=not unicode), nl=False)
        before = ",\n"
    typer.echo("]" if before != "[" else "[]")


def print_json(value: Any) -> None:
    """Print a value as indented JSON."""
    import json

    unicode = (sys.stdout.encoding or "").lower().startswith("utf")
    typer.echo(json.dumps(value, indent=1, ensure_ascii=not unicode))


def progress(line: str) -> None:
    """Print a line of progress on standard error."""
    typer.secho(line, err=True)


def grid() -> Table:
    """Return an empty table without borders: name, state, number, remarks."""
    from rich.table import Table

    rows = Table.grid(padding=(0, 2))
    rows.add_column(no_wrap=True)
    rows.add_column(no_wrap=True)
    rows.add_column(no_wrap=True, justify="right")
    rows.add_column(overflow="fold")
    return rows


def table(first: str, headings: Sequence[str], title: str | None = None, last: str | None = None) -> Table:
    """Return an empty table: a column of names, columns of numbers, and one of text if `last` is set."""
    from rich import box
    from rich.table import Table

    rows = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    rows.add_column(first, no_wrap=True)
    for heading in headings:
        rows.add_column(heading, justify="right")
    if last is not None:
        rows.add_column(last)
    return rows


def check_file(*paths: Path | None) -> None:
    """Raise InputError if a file cannot be written, or if two are the same. Call it before slow work."""
    from kokoro_tvm.common.output import check_distinct, check_place

    for path in paths:
        if path is not None:
            check_place(path)
    check_distinct((), paths)


def write_json(path: Path | None, data: Any) -> None:
    """Write a JSON file, completely or not at all, and print its path. Do nothing without a path."""
    if path is None:
        return
    import json

    from kokoro_tvm.common.output import is_stream, write_text

    write_text(path, json.dumps(data, indent=1, ensure_ascii=False, allow_nan=False) + "\n")
    typer.echo(f"{path}", err=is_stream(path))
