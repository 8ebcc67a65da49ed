"""What the commands of `validate` have in common: options, progress on standard error, tables, JSON files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

if TYPE_CHECKING:
    from rich.console import Console

__all__ = [
    "HELLO",
    "JsonOption",
    "RootOption",
    "SeedOption",
    "SpeedOption",
    "check_file",
    "console",
    "tell",
    "write_json",
]

RootOption: TypeAlias = Annotated[
    Path, typer.Option("--root", metavar="DIR", help="Folder that holds recipes/ and artifacts/.")
]
JsonOption: TypeAlias = Annotated[
    Path | None, typer.Option("--json", metavar="FILE", help="Write all that was found there.")
]
SpeedOption: TypeAlias = Annotated[float, typer.Option("--speed", help="Above 1 is faster.")]
SeedOption: TypeAlias = Annotated[int, typer.Option("--seed", help="Of the noise, the same for all regimes.")]

HELLO = "həlˈO wˈɜɹld."
_WIDTH = 132  # where output goes to a file


def console() -> Console:
    """Colour and the terminal's width at a terminal; plain and wide enough elsewhere."""
    from rich.console import Console

    made = Console()
    return made if made.is_terminal else Console(width=_WIDTH, color_system=None)


def tell(line: str) -> None:
    """What is being done, on standard error."""
    typer.secho(line, err=True)


def check_file(path: Path | None) -> None:
    """Raise InputError, before anything takes time, where a file could not be written."""
    from kokoro_tvm.errors import InputError

    if path is not None and (path.is_dir() or not path.parent.is_dir()):
        what = "is a folder" if path.is_dir() else f"lies in {path.parent}, which does not exist"
        raise InputError(f"{path} {what}. Name a file in a folder that is there.")


def write_json(path: Path | None, told: dict[str, Any]) -> None:
    """Writes a JSON file, whole or not at all, and says so; nothing where there is no path."""
    if path is None:
        return
    partial = path.with_name(f".{path.name}.partial")
    text = json.dumps(told, indent=1, ensure_ascii=False, allow_nan=False)
    partial.write_text(text + "\n", encoding="utf-8")
    partial.replace(path)
    typer.echo(f"{path}")
