"""kokoro-tvm release: writes the bundles of every recipe that passed, with digests and provenance."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kokoro_tvm.cli._output import RootOption

__all__ = ["release"]


def release(
    recipes: Annotated[list[str] | None, typer.Argument(help="Names of recipes.", show_default="all")] = None,
    output: Annotated[Path, typer.Option("-o", "--output", metavar="DIR", help="Folder to write to.")] = Path(
        "release"
    ),
    push: Annotated[
        str | None,
        typer.Option(
            "--push",
            metavar="TARGET",
            help="Push their bundles, each under its recipe's name, instead of writing packages: "
            "oci://HOST/REPOSITORY, or a folder.",
        ),
    ] = None,
    key: Annotated[
        Path | None,
        typer.Option("--key", metavar="KEY", help="Sign all of it, as `push --key` does one bundle."),
    ] = None,
    root: RootOption = Path(),
) -> None:
    """Write what others take of a build: bundles, wheels, reports, digests, provenance and materials.

    A recipe is in it if all of its stages are current, which means that it met its gates; the others are
    printed, and are listed in `release.json`. `SHA256SUMS` covers every file of the folder.
    """
    from kokoro_tvm.builder.project import Project
    from kokoro_tvm.publish.attestation import read_signer
    from kokoro_tvm.publish.push import push as send
    from kokoro_tvm.publish.release import write_release
    from kokoro_tvm.runtime.registry.address import parse_place

    place = parse_place(push) if push is not None else None
    signer = None if key is None else read_signer(key)
    project = Project.open(root)
    graphs = [project.graph(name) for name in recipes or project.recipes()]
    written = write_release(graphs, output, signer, packages=place is None)
    for path in written.files:
        typer.echo(path)
    if place is not None:
        for name, bundle in written.bundles.items():
            pushed = send(bundle, place.named(name), signer, lambda layer: None)
            typer.echo(f"{pushed.place}: {'signed' if signer else 'not signed'}")
    for name, stage in written.left_out.items():
        typer.echo(f"{name}: left out, because {stage} is not current", err=True)
