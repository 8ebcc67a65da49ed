"""Puts tables and text into a page of the docs, between `<!-- NAME -->` and `<!-- /NAME -->`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

__all__ = ["put", "replace"]


def put(path: Path, name: str, rows: Iterable[Sequence[str]]) -> None:
    """Replaces the table between `<!-- NAME -->` and `<!-- /NAME -->`."""
    head, *body = rows
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *body]
    replace(path, name, "\n".join(f"| {' | '.join(line)} |" for line in lines))


def replace(path: Path, name: str, content: str) -> None:
    text = path.read_text(encoding="utf-8")
    pattern = rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)"
    replaced, count = re.subn(pattern, lambda m: f"{m[1]}\n{content}\n\n{m[2]}", text, flags=re.DOTALL)
    if count != 1:
        raise SystemExit(f"{path} has {count} places for {name}, not one.")
    path.write_text(replaced, encoding="utf-8")
