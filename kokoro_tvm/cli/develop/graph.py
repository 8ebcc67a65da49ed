"""kokoro-tvm graph: draws the tasks of a recipe."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from kokoro_tvm.cli._output import RootOption

__all__ = ["graph"]


def graph(
    recipe: Annotated[str, typer.Argument(help="Name of the recipe.")] = "cpu",
    form: Annotated[
        Literal["mermaid", "dot"], typer.Option("--format", help="`mermaid` or `dot`.")
    ] = "mermaid",
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", metavar="FILE", help="File to write to.", show_default="standard output"
        ),
    ] = None,
    root: RootOption = Path(),
) -> None:
    """Draw the tasks of a recipe, coloured by state."""
    from kokoro_tvm.builder.diagnostics.graph import GraphNode, draw
    from kokoro_tvm.builder.project import Project
    from kokoro_tvm.common.output import is_stream, write_text

    nodes = []
    for stage in Project.open(root).graph(recipe).stages():
        _, title, *artifact = stage.name.split(".")
        after = tuple(s.name for s in stage.after)
        nodes.append(GraphNode(stage.name, title, ".".join(artifact), stage.state().kind, after))
    picture = draw(nodes, form)
    if output is None:
        typer.echo(picture, nl=False)
        return
    write_text(output, picture)
    typer.echo(f"{output}: {len(nodes)} tasks", err=is_stream(output))
