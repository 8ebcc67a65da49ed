"""kokoro-tvm explain: why a stage or an artifact is not current, and what a build would run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kokoro_tvm.cli._output import JsonOption, RootOption

__all__ = ["explain"]


def explain(
    what: Annotated[
        str, typer.Argument(help="An artifact (`cpu/decoder-5120`), a recipe, or any stage of `doit list`.")
    ],
    json: JsonOption = False,
    root: RootOption = Path(),
) -> None:
    """Show why something is not current.

    Prints what changed, from what to what, and which stages a build would run because of it.
    """
    from kokoro_tvm.builder.diagnostics.explain import explain as explanation
    from kokoro_tvm.builder.diagnostics.explain import lines, to_json
    from kokoro_tvm.builder.project import Project
    from kokoro_tvm.cli._output import print_json
    from kokoro_tvm.cli.develop._cache import shared_cache

    found = Project.open(root, cache=shared_cache()).find(what)
    found_reasons = explanation(what, found.stages, found.graph.stages())
    if json:
        print_json(to_json(found_reasons))
        return
    for line in lines(found_reasons):
        typer.echo(line)
