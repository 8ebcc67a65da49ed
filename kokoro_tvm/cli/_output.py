"""Shared parts of commands: common options, the console, tables, JSON."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rich.console import Console
    from rich.table import Table


_WIDTH = 132  # columns of output that does not go to a terminal

RootOption: TypeAlias = Annotated[
    Path, typer.Option("--root", metavar="DIR", help="The folder with `recipes/` and `artifacts/`.")
]
JsonOption: TypeAlias = Annotated[
    bool, typer.Option("--json", help="Print JSON on standard output instead of text.")
]
JsonFileOption: TypeAlias = Annotated[
    Path | None, typer.Option("--json-file", metavar="FILE", help="Write the whole result to this JSON file.")
]
JobsOption: TypeAlias = Annotated[
    int | None,
    typer.Option(
        "-n",
        "--jobs",
        min=1,
        help="Number of stages that run at the same time.",
        show_default="one more than the cores, at most 5",
    ),
]

_verbosity = 0


def set_verbosity(quiet: bool, verbose: bool) -> None:
    """Set what `note` and `detail` print from now on."""
    global _verbosity
    _verbosity = verbose - quiet


def is_quiet() -> bool:
    """Return whether only results and errors are printed."""
    return _verbosity < 0


def is_verbose() -> bool:
    """Return whether details are printed, too."""
    return _verbosity > 0


def note(line: str, err: bool = True) -> None:
    """Print a line that is no result, such as progress, on standard error; nothing with --quiet."""
    if not is_quiet():
        typer.echo(line, err=err)


def detail(line: str) -> None:
    """Print a line on standard error with --verbose."""
    if is_verbose():
        typer.echo(line, err=True)


def console(markup: bool = True, json: bool = False) -> Console:
    """Return a console with colour on a terminal; a plain and wider one elsewhere.

    Args:
        markup: Whether `[bold]` and the like are markup; otherwise text is printed as it is.
        json: Whether `print_json` prints the result, and this console nothing.
    """
    from rich.console import Console

    terminal = Console(markup=markup, emoji=markup, highlight=markup, quiet=json)
    if terminal.is_terminal:
        return terminal
    return Console(width=_WIDTH, color_system=None, markup=markup, emoji=markup, highlight=markup, quiet=json)


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


@contextmanager
def progress_bar(label: str, is_shown: bool = True) -> Iterator[Callable[[int, int], None]]:
    """Yield a function that shows how much of a total is done.

    It draws a bar on standard error if that is a terminal.
    """
    if not is_shown or is_quiet() or not sys.stderr.isatty():
        yield lambda completed, total: None
        return
    from rich.console import Console
    from rich.progress import Progress

    from kokoro_tvm.common.progress import progress_columns

    with Progress(*progress_columns(), console=Console(stderr=True), transient=True) as view:
        row = view.add_task(label, total=None)
        yield lambda completed, total: view.update(row, completed=completed, total=total)


@contextmanager
def spinner(label: str) -> Iterator[None]:
    """Show that a command works, on standard error if that is a terminal."""
    if is_quiet() or not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(label):
        yield


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


def write_json(path: Path | None, data: Any, printed: bool = False) -> None:
    """Write a JSON file, completely or not at all, and print its path.

    Args:
        path: The file; None: none is written.
        data: The result.
        printed: Whether to print the data on standard output as well.
    """
    if printed:
        print_json(data)
    if path is None:
        return
    import json

    from kokoro_tvm.common.output import is_stream, write_text

    write_text(path, json.dumps(data, indent=1, ensure_ascii=False, allow_nan=False) + "\n")
    note(f"{path}", err=printed or is_stream(path))
