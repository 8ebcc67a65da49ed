"""kokoro-tvm voices: lists the voices of a bundle."""

from __future__ import annotations

import typer

from kokoro_tvm.cli._speech import BUNDLE, BundleOption

__all__ = ["voices"]


def voices(
    bundle: BundleOption = BUNDLE,
) -> None:
    """List the voices of a bundle with language and gender."""
    from kokoro_tvm.runtime import Voices, describe, read_bundle
    from kokoro_tvm.runtime.bundle.files import OpenFiles
    from kokoro_tvm.runtime.bundle.verification import verify_files

    manifest = read_bundle(bundle)
    with OpenFiles([manifest.voices]) as files:
        verify_files(files)
        found = Voices.open(manifest, files[manifest.voices]).names
    width = max(map(len, found))
    for info in map(describe, found):
        typer.echo(f"{info.name:<{width}}  {info.language:<20}  {info.gender}")
