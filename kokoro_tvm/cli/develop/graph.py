"""kokoro-tvm graph: draws the stages of a recipe."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kokoro_tvm.cli._output import RootOption, note


def graph(
    recipe: Annotated[str, typer.Argument(help="Name of the recipe.")] = "cpu",
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="File to write.", show_default="standard output"),
    ] = None,
    root: RootOption = Path(),
) -> None:
    """Draw the stages of a recipe as a Mermaid flowchart.

    Colours show their states.
    """
    from kokoro_tvm.builder.diagnostics.graph import GraphNode, draw
    from kokoro_tvm.builder.project import Project
    from kokoro_tvm.common.output import is_stream, write_text

    nodes = []
    for stage in Project.open(root).graph(recipe).stages():
        _, title, *artifact = stage.name.split(".")
        after = tuple(before.name for before in stage.after)
        nodes.append(GraphNode(stage.name, title, ".".join(artifact), stage.state().kind, after))
    if output is None:
        typer.echo(draw(nodes), nl=False)
        return
    write_text(output, draw(nodes))
    note(f"{output}: {len(nodes)} stages", err=is_stream(output))
