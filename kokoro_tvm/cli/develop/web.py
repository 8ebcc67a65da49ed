"""kokoro-tvm web: writes a page that speaks in the browser."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kokoro_tvm.cli._output import RootOption


def web(
    recipe: Annotated[
        str, typer.Argument(help="Name of a built recipe, or the folder of a bundle.")
    ] = "wasm",
    gpu: Annotated[
        str | None,
        typer.Option(
            "--gpu",
            metavar="RECIPE",
            help="A built recipe for WebGPU, such as `webgpu`, or the folder of a bundle. Browsers with a "
            "GPU use it.",
        ),
    ] = None,
    relaxed: Annotated[
        str | None,
        typer.Option(
            "--relaxed",
            metavar="RECIPE",
            help="A built recipe with relaxed SIMD, such as `wasm-relaxed`, or the folder of a bundle. "
            "Browsers with relaxed SIMD use it.",
        ),
    ] = None,
    output: Annotated[
        Path,
        typer.Option("-o", "--output", metavar="DIR", help="Folder of the site. A site in it is replaced."),
    ] = Path("site"),
    mp3: Annotated[
        bool, typer.Option(help="Fetch the encoder lamejs (LGPL) from the npm registry, to save MP3.")
    ] = True,
    root: RootOption = Path(),
) -> None:
    """Write a page that speaks in the browser, for any web server.

    The bundle has to be for WebAssembly. Every file is compared with the manifest, and written in pieces that
    the page verifies, caches, and loads once. The web server computes nothing and needs no special header.
    """
    from rich.filesize import decimal

    from kokoro_tvm.builder.names import NPM
    from kokoro_tvm.publish.mp3 import fetch_encoder
    from kokoro_tvm.publish.site import write_site

    def folder(name: str) -> Path:
        built = root / "artifacts" / name
        return built if built.is_dir() else Path(name)

    encoder = fetch_encoder(root / "artifacts" / NPM, typer.echo) if mp3 else None
    others = {
        role: folder(name) for role, name in {"gpu": gpu, "relaxed": relaxed}.items() if name is not None
    }
    files = write_site(folder(recipe), output, encoder=encoder, **others)
    size = decimal(sum(file.stat().st_size for file in files))
    typer.echo(f"{output}: {len(files)} files, {size}. To see it: python -m http.server -d {output}")
