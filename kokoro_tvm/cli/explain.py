"""kokoro-tvm explain: why a stage or an artifact is not current, and what a build does about it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kokoro_tvm.cli._output import JsonOption, RootOption

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Adds the command `explain`."""
    app.command("explain")(explain)


def explain(
    what: Annotated[
        str, typer.Argument(help="An artifact (cpu/decoder-5120), a recipe, or a task of `doit list`.")
    ],
    json: JsonOption = False,
    root: RootOption = Path(),
) -> None:
    """Tell why something is not current, and what follows.

    What changed, from what to what; which stages a build runs because of it.
    """
    from kokoro_tvm.build.project import Project
    from kokoro_tvm.cli._output import print_json
    from kokoro_tvm.telling.explain import explain as explanation
    from kokoro_tvm.telling.explain import lines, to_json

    found = Project.open(root).find(what)
    told = explanation(what, found.stages, found.graph.stages())
    if json:
        print_json(to_json(told))
        return
    for line in lines(told):
        typer.echo(line)
