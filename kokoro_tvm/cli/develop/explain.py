"""kokoro-tvm explain: shows why a stage or an artifact is not current, and what a build would run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kokoro_tvm.cli._output import JsonOption, RootOption, note, spinner
from kokoro_tvm.common.invocation import localize


def explain(
    what: Annotated[
        str, typer.Argument(help="An artifact (`cpu/decoder-5120`), a recipe, or any stage of `doit list`.")
    ],
    json: JsonOption = False,
    root: RootOption = Path(),
) -> None:
    """Show why something is not current.

    Prints what changed, with both values, and which stages a build would run because of it.
    """
    from kokoro_tvm.builder.diagnostics.explain import explain as explain_stages
    from kokoro_tvm.builder.engine.cache import Cache
    from kokoro_tvm.builder.project import Project
    from kokoro_tvm.cli._output import print_json

    with spinner("reading the store"):
        selection = Project.open(root, cache=Cache.from_environment(note)).find(what)
        explanation = explain_stages(what, selection.stages, selection.graph.stages())
    if json:
        print_json(explanation.to_json())
        return
    for line in explanation.lines():
        typer.echo(localize(line))
