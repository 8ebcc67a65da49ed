"""kokoro-tvm pull: downloads a bundle."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kokoro_tvm.cli._output import note, progress_bar


def pull(
    source: Annotated[
        str,
        typer.Argument(
            help="oci://HOST/REPOSITORY:TAG, https://HOST/PATH#NAME, hf://OWNER/REPOSITORY/PATH#NAME, a "
            "folder, or a NAME in KOKORO_TVM_REGISTRY."
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="DIR",
            help="Folder to write the bundle to.",
            show_default="its recipe's name in ~/.local/share/kokoro-tvm/bundles",
        ),
    ] = None,
    trust: Annotated[
        Path | None,
        typer.Option(
            "--trust", metavar="KEY", help="Refuse a bundle without a signature by this public key (PEM)."
        ),
    ] = None,
) -> None:
    """Download a bundle from a registry, a web server or a folder.

    Files that other bundles in the same folder have are not downloaded again, and an interrupted download is
    continued. Every digest and the signature are verified before the bundle gets its name.
    """
    from rich.filesize import decimal

    from kokoro_tvm.runtime.registry.address import parse_source
    from kokoro_tvm.runtime.registry.pull import pull as pull_bundle
    from kokoro_tvm.runtime.registry.trust import read_key

    place, key = parse_source(source), read_key(trust) if trust is not None else None
    with progress_bar(f"pulling {place}") as show:
        pulled = pull_bundle(place, output, key, show)
    note(f"{place}@sha256:{pulled.digest}: {pulled.trusted}")
    shared = f", {decimal(pulled.shared)} was already here" if pulled.shared else ""
    size = decimal(pulled.downloaded)
    typer.echo(f"Pulled {pulled.bundle.recipe} ({size}{shared}) into {pulled.bundle.root}")
