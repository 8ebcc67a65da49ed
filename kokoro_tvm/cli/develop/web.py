"""kokoro-tvm web: writes a page that speaks by itself."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kokoro_tvm.cli._output import RootOption

__all__ = ["web"]


def web(
    recipe: Annotated[
        str, typer.Argument(help="Name of a recipe that is built, or the folder of a bundle.")
    ] = "wasm",
    gpu: Annotated[
        str | None,
        typer.Option(
            "--gpu",
            metavar="RECIPE",
            help="A recipe for WebGPU that is built, such as `webgpu`, or the folder of a bundle. It "
            "computes where the browser has a GPU.",
        ),
    ] = None,
    relaxed: Annotated[
        str | None,
        typer.Option(
            "--relaxed",
            metavar="RECIPE",
            help="A recipe with relaxed SIMD that is built, such as `wasm-relaxed`, or the folder of a "
            "bundle. Browsers that have it take this one.",
        ),
    ] = None,
    output: Annotated[
        Path,
        typer.Option("-o", "--output", metavar="DIR", help="The site's folder; a site in it is replaced."),
    ] = Path("site"),
    mp3: Annotated[
        bool, typer.Option(help="Fetch an encoder, lamejs (LGPL), from the npm registry, to save MP3.")
    ] = True,
    root: RootOption = Path(),
) -> None:
    """Write a page that speaks in the browser, as a folder for any web server.

    The bundle has to be one for WebAssembly; others are for browsers with a GPU, and with relaxed SIMD.
    Every file is compared with the manifest first, and written in pieces that the page compares, keeps, and
    does not load twice. No server computes, and no header is needed.
    """
    from rich.filesize import decimal

    from kokoro_tvm.builder.names import NPM
    from kokoro_tvm.publish.mp3 import fetch_encoder
    from kokoro_tvm.publish.site import write_site

    def bundle(name: str) -> Path:
        built = root / "artifacts" / name
        return built if built.is_dir() else Path(name)

    encoder = fetch_encoder(root / "artifacts" / NPM, typer.echo) if mp3 else None
    others = {
        role: bundle(name) for role, name in {"gpu": gpu, "relaxed": relaxed}.items() if name is not None
    }
    files = write_site(bundle(recipe), output, encoder=encoder, **others)
    size = decimal(sum(file.stat().st_size for file in files))
    typer.echo(f"{output}: {len(files)} files, {size}. To look at it: python -m http.server -d {output}")
