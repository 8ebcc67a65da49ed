"""kokoro-tvm push: puts a bundle where others can pull it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from kokoro_tvm.runtime.registry.artifact import OciLayer

__all__ = ["push"]


def push(
    bundle: Annotated[Path, typer.Argument(help="Folder of a bundle.")],
    target: Annotated[
        str,
        typer.Argument(
            help="oci://HOST/REPOSITORY:TAG, or a folder or URL of fsspec, in which it has its recipe's "
            "name or the one after #."
        ),
    ],
    key: Annotated[
        Path | None,
        typer.Option("--key", metavar="KEY", help="Sign it with this private key (PEM, without a password)."),
    ] = None,
) -> None:
    """Put a bundle into a registry, or into a folder that any web server can offer.

    Every file is compared with the manifest first. What is there already does not travel. With it go its
    provenance and a bill of materials (CycloneDX); `--key` signs both, and `pull --trust` demands that.
    """
    from rich.filesize import decimal

    from kokoro_tvm.publish.attestation import read_signer
    from kokoro_tvm.publish.push import push as send
    from kokoro_tvm.runtime.registry.address import parse_place

    def sending(layer: OciLayer) -> None:
        typer.echo(f"{layer.name}: {decimal(layer.size)}", err=True)

    place, signer = parse_place(target), None if key is None else read_signer(key)
    pushed = send(bundle, place, signer, sending)
    typer.echo(f"{pushed.place}@sha256:{pushed.digest}")
    signed = "signed" if key else "not signed"
    typer.echo(f"{decimal(pushed.sent)} sent, {decimal(pushed.there)} were there, {signed}")
