"""Puts tables and text into a page of the docs, between `<!-- NAME -->` and `<!-- /NAME -->`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

__all__ = ["merge", "put", "replace", "rows_of"]


def put(path: Path, name: str, rows: Iterable[Sequence[str]]) -> None:
    """Replaces the table between `<!-- NAME -->` and `<!-- /NAME -->`."""
    head, *body = rows
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *body]
    replace(path, name, "\n".join(f"| {' | '.join(line)} |" for line in lines))


def merge(path: Path, name: str, keys: int, rows: Iterable[Sequence[str]]) -> None:
    """Puts rows into the table of that name: each replaces the one with the same first `keys` cells, or comes
    last."""
    head, *kept = rows_of(path, name)
    merged = {tuple(row[:keys]): row for row in kept}
    merged |= {tuple(row[:keys]): list(row) for row in rows}
    put(path, name, [head, *merged.values()])


def rows_of(path: Path, name: str) -> list[list[str]]:
    """The cells of the table of that name, its head first."""
    head, _, *body = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in _between(path, name).splitlines()
        if line.startswith("|")
    ]
    return [head, *body]


def replace(path: Path, name: str, content: str) -> None:
    """Replaces the text between `<!-- NAME -->` and `<!-- /NAME -->`; exits where that is not one place."""
    text = path.read_text(encoding="utf-8")
    before = _between(path, name)
    whole = f"<!-- {name} -->\n{before}<!-- /{name} -->"
    path.write_text(
        text.replace(whole, f"<!-- {name} -->\n\n{content}\n\n<!-- /{name} -->"), encoding="utf-8"
    )


def _between(path: Path, name: str) -> str:
    """The text between `<!-- NAME -->` and `<!-- /NAME -->`; exits where that is not one place."""
    text = path.read_text(encoding="utf-8")
    found = re.findall(rf"<!-- {name} -->\n(.*?)<!-- /{name} -->", text, flags=re.DOTALL)
    if len(found) != 1:
        raise SystemExit(f"{path} has {len(found)} places for {name}, not one.")
    return str(found[0])
