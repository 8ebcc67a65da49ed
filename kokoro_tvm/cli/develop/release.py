"""kokoro-tvm release: writes the bundles of every recipe that passed, with digests and provenance."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kokoro_tvm.cli._output import RootOption


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
            help="Push the bundles, each under its recipe's name, instead of writing packages: "
            "oci://HOST/REPOSITORY, or a folder.",
        ),
    ] = None,
    wheels: Annotated[
        list[str] | None,
        typer.Option(
            "--wheel",
            metavar="RECIPE",
            help="Write the wheel of this recipe, and no other packages. May be repeated.",
            show_default="packages of all recipes; none with --push",
        ),
    ] = None,
    key: Annotated[
        Path | None, typer.Option("--key", metavar="KEY", help="Sign everything with this private key (PEM).")
    ] = None,
    root: RootOption = Path(),
) -> None:
    """Write a release: packages, reports, digests, provenance.

    It has the recipes whose stages are all current, which means that they met their gates. The others are
    printed, and listed in `release.json`. `SHA256SUMS` covers every file of the folder.
    """
    from kokoro_tvm.builder.project import Project
    from kokoro_tvm.common.errors import InputError
    from kokoro_tvm.common.words import hint
    from kokoro_tvm.publish.attestation import read_signer
    from kokoro_tvm.publish.push import push as push_bundle
    from kokoro_tvm.publish.release import write_release
    from kokoro_tvm.runtime.registry.address import parse_place

    place = parse_place(push) if push is not None else None
    signer = None if key is None else read_signer(key)
    project = Project.open(root)
    names = recipes or project.recipes()
    for name in wheels or ():
        if name not in names:
            raise InputError(f"--wheel: no recipe `{name}` is released{hint(name, names)}")
    chosen = None if place is None and not wheels else wheels or []
    written = write_release([project.graph(name) for name in names], output, signer, chosen)
    for path in written.files:
        typer.echo(path)
    if place is not None:
        for name, bundle in written.bundles.items():
            pushed = push_bundle(bundle, place.named(name), signer, lambda layer: None)
            typer.echo(f"{pushed.place}: {'signed' if signer else 'not signed'}")
    for name, stage in written.left_out.items():
        typer.echo(f"{name}: left out, because {stage} is not current", err=True)
