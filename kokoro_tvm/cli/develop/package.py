"""kokoro-tvm package: writes a bundle as one file, to install or unpack elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kokoro_tvm.cli._output import RootOption


def package(
    recipe: Annotated[str, typer.Argument(help="Name of a built recipe, or the folder of a bundle.")] = "cpu",
    output: Annotated[Path, typer.Option("-o", "--output", metavar="DIR", help="Folder to write to.")] = Path(
        "dist"
    ),
    root: RootOption = Path(),
) -> None:
    """Write a bundle as a wheel (iOS: XCFramework) and an archive.

    The wheel installs the bundle, the runtime and the command `kokoro-tvm`. It needs numpy, apache-tvm-ffi,
    typer and markdown-it-py, but neither a compiler nor PyTorch.

    The archive is the bundle's folder, for machines where kokoro-tvm is installed. There is no wheel if pip
    has no platform for the target (RISC-V). The XCFramework has the code that an app is linked with, the
    archive everything else. Every file is compared with the manifest first.
    """
    from rich.filesize import decimal

    from kokoro_tvm.publish.distribution import write_package

    bundle = root / "artifacts" / recipe
    if not bundle.is_dir():
        bundle = Path(recipe)
    for path in write_package(bundle, output):
        typer.echo(f"{path}: {decimal(path.stat().st_size)}")
