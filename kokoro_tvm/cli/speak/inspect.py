"""kokoro-tvm inspect: prints the manifest of a library, or the content and provenance of a bundle."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from kokoro_tvm.cli._output import JsonOption


def inspect(
    path: Annotated[Path, typer.Argument(help="A compiled library (`.so`), or the folder of a bundle.")],
    json: JsonOption = False,
) -> None:
    """Print the manifest of a library, or of a bundle.

    No code is executed, so a library may be for another kind of machine. Every file of a bundle, the
    libraries' manifests and the provenance are compared with bundle.json. The first line is the SHA-256 of
    bundle.json, for `say --sha256` and `Synthesizer(path, sha256=...)`.
    """
    from kokoro_tvm.cli._output import print_json
    from kokoro_tvm.runtime.bundle.inspection import inspect_bundle, inspect_library

    content = inspect_bundle(path) if path.is_dir() else inspect_library(path)
    if json:
        print_json(content)
        return
    rows = list(_rows(content))
    width = max(len(name) for name, _ in rows)
    for name, value in rows:
        typer.echo(f"{name:<{width}}  {value}".rstrip())


def _rows(content: dict[str, Any], depth: int = 0) -> Iterator[tuple[str, str]]:
    """Yield the name, indented under its parent, and the text of each value. Lists are on one line."""
    for name, value in content.items():
        label = "  " * depth + name
        if isinstance(value, dict) and value:
            yield label, ""
            yield from _rows(value, depth + 1)
        elif isinstance(value, list | dict):
            yield label, ", ".join(map(str, value)) or "none"
        elif isinstance(value, bool):
            yield label, "yes" if value else "no"
        else:
            yield label, "none" if value is None else str(value)
