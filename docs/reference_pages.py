"""Writes the generated parts of the pages: options of commands, fields of recipes, written forms.

.venv/bin/python docs/reference_pages.py
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer
from markdown_tables import replace

from kokoro_tvm.cli._app import build_app
from kokoro_tvm.recipe.fields import recipe_fields
from kokoro_tvm.truth.written_forms import table_of, written_forms

DOCS = Path(__file__).parent


def commands(command: Any, path: str = "kokoro-tvm") -> Iterator[tuple[str, Any]]:
    """(name, command) of every command that does something, and of the root for its options."""
    subcommands = getattr(command, "commands", {})
    if not subcommands or path == "kokoro-tvm":
        yield path, command
    for name, inner in subcommands.items():
        yield from commands(inner, f"{path} {name}")


def command_table(command: Any) -> str:
    """Arguments and options of a command; empty where it has none of its own."""
    rows = [
        (_name(parameter), _default(parameter), parameter.help or "")
        for parameter in command.params
        if "--help" not in parameter.opts
    ]
    return _table(("argument, option", "default", "meaning"), rows) if rows else ""


def field_table(record: str, sources: bool = False) -> str:
    """Fields of `TargetFile` or `ModelFile`: those of the checkpoint's sources, or all others."""
    fields = [f for f in recipe_fields(record) if f.path.startswith("checkpoint.sources") is sources]
    rows = [(f"`{f.path}`", f.value, f.default, f.description) for f in fields]
    return _table(("field", "value", "default", "meaning"), rows)


def generated() -> dict[tuple[str, str], str]:
    """(page, marker) -> what stands between its markers."""
    found = {("recipes.md", record): field_table(record) for record in ("TargetFile", "ModelFile")}
    found["recipes.md", "sources"] = field_table("ModelFile", sources=True)
    found["text.md", "written forms"] = table_of(written_forms())
    for name, command in commands(typer.main.get_command(build_app())):
        if table := command_table(command):
            found["commands.md", name] = table
    return found


def _name(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        return f"`{(parameter.metavar or parameter.name).strip('[].{}').upper()}`"
    names = ", ".join(f"`{name}`" for name in (*parameter.opts, *parameter.secondary_opts))
    return f"{names} `{parameter.metavar}`" if parameter.metavar else names


def _default(parameter: Any) -> str:
    shown = parameter.show_default
    if isinstance(shown, str):
        return shown
    value = parameter.default
    if value is None or value is False or callable(value) or not str(value):
        return ""
    return f"`{value}`"


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    escaped = [[cell.replace("|", "\\|") for cell in row] for row in rows]
    lines = [list(head), ["---"] * len(head), *escaped]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


if __name__ == "__main__":
    for (page, marker), content in generated().items():
        replace(DOCS / page, marker, content)
