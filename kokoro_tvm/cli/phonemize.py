"""kokoro-tvm phonemize: shows how a text is read, token by token."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from kokoro_tvm.cli._output import JsonOption
from kokoro_tvm.cli._speech import BUNDLE, BundleOption, VoiceOption, noted

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Adds the command `phonemize`."""
    app.command("phonemize")(phonemize)


def phonemize(
    text: Annotated[str, typer.Argument(metavar="TEXT", help="Text to read.")],
    voice: VoiceOption = "af_heart",
    bundle: BundleOption = BUNDLE,
    json: JsonOption = False,
) -> None:
    """Show the tokens of a text: what is written, what it is read as where that is something else, part of
    speech, phonemes, and where these come from.

    Nothing is synthesized, and no code of the bundle is loaded.
    """
    from rich.table import Table

    from kokoro_tvm.cli._output import open_console, print_json
    from kokoro_tvm.runtime import describe, read_bundle
    from kokoro_tvm.runtime.files import OpenFiles
    from kokoro_tvm.runtime.frontend.front_end import FrontEnd
    from kokoro_tvm.runtime.text import read
    from kokoro_tvm.runtime.verification import verify_files

    manifest = read_bundle(bundle)
    code = describe(voice.partition(",")[0]).code
    with OpenFiles([manifest.front_end] if manifest.front_end else []) as files, noted():
        verify_files(files)
        front_end = FrontEnd.open(manifest, files[manifest.front_end] if manifest.front_end else None)
        utterances = read(text, code, front_end)
    if json:
        print_json([{**asdict(utterance), "phonemes": utterance.phonemes} for utterance in utterances])
        return
    console = open_console()
    for utterance in utterances:
        typer.echo(utterance.phonemes)
        table = Table.grid(padding=(0, 2))
        for token in utterance.tokens:
            place = f"{token.start}:{token.end}"
            written = text[token.start : token.end]
            read_as = "" if written == token.text else token.text
            table.add_row(place, written, read_as, token.tag, token.phonemes, token.origin)
        console.print(table)
