"""kokoro-tvm push: uploads a bundle to a registry or a folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kokoro_tvm.cli._output import note

if TYPE_CHECKING:
    from kokoro_tvm.runtime.registry.artifact import OciLayer


def push(
    bundle: Annotated[Path, typer.Argument(help="Folder of a bundle.")],
    target: Annotated[
        str,
        typer.Argument(
            help="oci://HOST/REPOSITORY:TAG, or a folder or URL of fsspec. There the bundle has its recipe's "
            "name, or the name after #."
        ),
    ],
    key: Annotated[
        Path | None,
        typer.Option("--key", metavar="KEY", help="Sign with this private key (PEM, without a password)."),
    ] = None,
) -> None:
    """Upload a bundle to a registry or a folder.

    Any web server can serve the folder. Every file is compared with the manifest first. Files that are there
    already are not sent. The provenance and a bill of materials (CycloneDX) go with the bundle. `--key` signs
    both, and `pull --trust` verifies the signature.
    """
    from rich.filesize import decimal

    from kokoro_tvm.publish.attestation import read_signer
    from kokoro_tvm.publish.push import push as push_bundle
    from kokoro_tvm.runtime.registry.address import parse_place

    def report(layer: OciLayer) -> None:
        note(f"{layer.name}: {decimal(layer.size)}")

    place, signer = parse_place(target), None if key is None else read_signer(key)
    pushed = push_bundle(bundle, place, signer, report)
    typer.echo(f"{pushed.place}@sha256:{pushed.digest}")
    present = f"{decimal(pushed.present)} was" if pushed.present else "nothing was"
    signed = "Signed" if key else "Not signed"
    note(f"Pushed {decimal(pushed.sent)} ({present} already there). {signed}.", err=False)
    note(f"Next: `kokoro-tvm pull {pushed.place}`", err=False)
