"""kokoro-tvm inspect: what a library or a bundle says of itself and where it comes from."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from kokoro_tvm.cli._output import JsonOption

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Adds the command `inspect`."""
    app.command("inspect")(inspect)


def inspect(
    path: Annotated[Path, typer.Argument(help="A compiled library (.so), or the folder of a bundle.")],
    json: JsonOption = False,
) -> None:
    """Ask a library what it is, or a bundle what it holds and where it comes from.

    A library is asked alone: no bundle, no weights. Of a bundle every file is read and compared with the
    manifest, every library is asked, and the provenance is compared with both.
    """
    from kokoro_tvm.cli._output import print_json
    from kokoro_tvm.runtime.inspection import inspect_library

    told = _bundle(path) if path.is_dir() else inspect_library(path)
    if json:
        print_json(told)
        return
    rows = list(_rows(told))
    width = max(len(name) for name, _ in rows)
    for name, value in rows:
        typer.echo(f"{name:<{width}}  {value}".rstrip())


def _bundle(path: Path) -> dict[str, Any]:
    """What a bundle tells; raises BundleError where its parts do not agree."""
    from kokoro_tvm.errors import BundleError
    from kokoro_tvm.runtime.bundle import read_bundle
    from kokoro_tvm.runtime.inspection import inspect_library
    from kokoro_tvm.runtime.provenance import verify_provenance
    from kokoro_tvm.runtime.threads import usable_cores
    from kokoro_tvm.runtime.verification import verify_files

    bundle = read_bundle(path)
    verify_files(bundle.files(), usable_cores())
    provenance = verify_provenance(bundle)
    libraries = {}
    for component in bundle.components.values():
        for library in component.libraries:
            file = library.file.path
            found = libraries[file.name] = inspect_library(file)
            wanted = {"component": component.name, "bucket": library.bucket}
            wanted |= {"length": bundle.length, "precision": bundle.precision}
            for key, value in wanted.items():
                if found.get(key) != value:
                    raise BundleError(
                        f"{file} says {key} {found.get(key)!r}, but bundle.json {value!r}. Build it again."
                    )
    return {
        "recipe": provenance.recipe,
        "synthetic": bundle.synthetic,
        "made of": provenance.dependencies,
        "made with": provenance.tools,
        "files": provenance.subjects,
        "libraries": libraries,
    }


def _rows(told: dict[str, Any], depth: int = 0) -> Iterator[tuple[str, str]]:
    """A line for every value, indented under what it belongs to; lists and innermost mappings on one line."""
    for name, value in told.items():
        shown = "  " * depth + name
        if isinstance(value, dict) and value:
            yield shown, ""
            yield from _rows(value, depth + 1)
        elif isinstance(value, list | dict):
            yield shown, ", ".join(map(str, value)) or "none"
        elif isinstance(value, bool):
            yield shown, "yes" if value else "no"
        else:
            yield shown, "none" if value is None else str(value)
