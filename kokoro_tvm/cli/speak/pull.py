"""kokoro-tvm pull: brings a bundle from where somebody pushed it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["pull"]


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
            help="Folder of the bundle.",
            show_default="its recipe's name in ~/.local/share/kokoro-tvm/bundles",
        ),
    ] = None,
    trust: Annotated[
        Path | None,
        typer.Option(
            "--trust", metavar="KEY", help="Refuse a bundle that this public key (PEM) has not signed."
        ),
    ] = None,
) -> None:
    """Bring a bundle from a registry, a web server or a folder.

    What other bundles beside it have does not travel again, and what broke off goes on where it ended. Every
    file is compared with its digest, and the signature verified, before the bundle has its name.
    """
    from rich.filesize import decimal

    from kokoro_tvm.runtime.registry.address import parse_source
    from kokoro_tvm.runtime.registry.pull import pull as bring
    from kokoro_tvm.runtime.registry.trust import read_key

    place, key = parse_source(source), read_key(trust) if trust is not None else None
    with typer.progressbar(length=0, label=f"{place}", file=typer.get_text_stream("stderr")) as bar:

        def meter(arrived: int, total: int) -> None:
            bar.length = total
            bar.update(arrived - bar.pos)

        pulled = bring(place, output, key, meter)
    typer.echo(f"{place}@sha256:{pulled.digest}: {pulled.trusted}", err=True)
    shared = f", {decimal(pulled.shared)} were here" if pulled.shared else ""
    typer.echo(f"{pulled.bundle.root}: {pulled.bundle.recipe}, {decimal(pulled.downloaded)} came{shared}")
