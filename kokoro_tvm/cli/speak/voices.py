"""kokoro-tvm voices: lists the voices of a bundle, and writes mixes of them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kokoro_tvm.cli._speech import BUNDLE, BundleOption, VoicesOption

if TYPE_CHECKING:
    from kokoro_tvm.runtime import Voices


_WEIGHT = re.compile(r":\s*([0-9.]+)")


def register(app: typer.Typer) -> None:
    """Add the command `voices`, which lists the voices, and the commands of its group."""
    group = typer.Typer(invoke_without_command=True, rich_markup_mode=None)
    group.callback()(voices)
    group.command("mix")(mix)
    app.add_typer(group, name="voices")


def voices(context: typer.Context, bundle: BundleOption = BUNDLE, voices: VoicesOption = None) -> None:
    """List the voices of a bundle with language and gender."""
    if context.invoked_subcommand is not None:
        return
    from kokoro_tvm.runtime import describe, read_bundle

    names = _open(bundle, voices).names
    languages = read_bundle(bundle).languages
    width = max(map(len, names))
    for info in (describe(name, languages) for name in names):
        typer.echo(f"{info.name:<{width}}  {info.language:<20}  {info.gender}")


def mix(
    mix: Annotated[
        str,
        typer.Argument(metavar="MIX", help="Voices and weights: af_heart:2,am_adam, or as for `--voice`."),
    ],
    output: Annotated[
        Path,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE",
            help="File to write: .safetensors, .pt, .npy or .bin. Its name is the voice's name.",
        ),
    ],
    bundle: BundleOption = BUNDLE,
    voices: VoicesOption = None,
) -> None:
    """Write a mix of voices to a file, for `--voice FILE`."""
    from kokoro_tvm.common.output import check_distinct, check_place, whole_file
    from kokoro_tvm.runtime.bundle.voice_files import check_voice_name, encode_voice

    check_place(output)
    check_distinct((voices,), (output,))
    check_voice_name(output)
    table = _open(bundle, voices).table(_WEIGHT.sub(r"(\1)", mix))
    content = encode_voice(table, output.suffix, output.stem)
    with whole_file(output) as temporary:
        temporary.write_bytes(content)
    typer.echo(f"{output}: the voice {output.stem}, {len(table)} x {table.shape[1]}")


def _open(path: Path, own: Path | None) -> Voices:
    """Return the verified voices of a bundle, and the user's own."""
    from kokoro_tvm.runtime import Voices, read_bundle
    from kokoro_tvm.runtime.bundle.files import OpenFiles
    from kokoro_tvm.runtime.bundle.verification import verify_files
    from kokoro_tvm.runtime.bundle.voice_files import read_voices

    manifest = read_bundle(path)
    with OpenFiles([manifest.voices]) as files:
        verify_files(files)
        shipped = Voices.open(manifest, files[manifest.voices])
    return shipped if own is None else shipped.joined(read_voices(own, 2 * manifest.style_dim))
