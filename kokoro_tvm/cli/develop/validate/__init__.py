"""kokoro-tvm validate: one module for each command of the group."""

from __future__ import annotations

from importlib import import_module

import typer

__all__ = ["register"]

# Modules of this folder in the order of --help; each has a function of its own name.
_COMMANDS = ("steps", "e2e", "corpus", "lengths", "tails", "intelligibility")


def register(app: typer.Typer) -> None:
    """Add the command group `validate`."""
    group = typer.Typer(no_args_is_help=True, rich_markup_mode=None)
    for name in _COMMANDS:
        group.command(name)(getattr(import_module(f"kokoro_tvm.cli.develop.validate.{name}"), name))
    app.add_typer(group, name="validate", help="Measure a bundle against the stock model.")
