"""kokoro-tvm validate e2e: whole utterances, bundles beside PyTorch, against the stock model in float64."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kokoro_tvm.cli._speech import BUNDLE, ThreadsOption, noted
from kokoro_tvm.cli.validate._options import (
    JsonOption,
    RootOption,
    SeedOption,
    SpeedOption,
    check_file,
    console,
    tell,
    write_json,
)

__all__ = ["register"]


def register(group: typer.Typer) -> None:
    """Adds the command `e2e`."""
    group.command("e2e")(e2e)


def e2e(
    bundle: Annotated[
        list[Path] | None,
        typer.Option(
            "--bundle", metavar="DIR", help="Bundle to measure; may be repeated.", show_default=str(BUNDLE)
        ),
    ] = None,
    utterance: Annotated[
        list[str] | None,
        typer.Option(
            "--utterance",
            metavar="NAME",
            help="One of the recipe's or the corpus'; may be repeated.",
            show_default="the recipe's",
        ),
    ] = None,
    corpus: Annotated[bool, typer.Option("--corpus", help="All 60 utterances of the corpus.")] = False,
    text: Annotated[str | None, typer.Option("--text", help="Something else, one paragraph.")] = None,
    phonemes: Annotated[str | None, typer.Option("--phonemes", help="The same as phonemes.")] = None,
    voice: Annotated[str, typer.Option("--voice", help="A voice, for --text and --phonemes.")] = "af_heart",
    speed: SpeedOption = 1.0,
    seed: SeedOption = 0,
    json_file: JsonOption = None,
    threads: ThreadsOption = None,
    root: RootOption = Path(),
) -> None:
    """Compare whole utterances with the stock model in float64, beside PyTorch float32 and other noise."""
    from kokoro_tvm.lab.e2e import choose_utterances, end_to_end
    from kokoro_tvm.lab.setting import Lab, utterance_of
    from kokoro_tvm.validate.e2e_table import print_end_to_end

    # Before anything takes time: what was asked for in vain.
    check_file(json_file)
    given = []
    if text is not None or phonemes is not None:
        with noted():
            given.append(utterance_of(phonemes, text, voice, speed, seed))
    labs = [Lab.open(folder, root, threads, tell) for folder in bundle or [BUNDLE]]
    chosen = choose_utterances(labs[0], utterance or [], corpus) if utterance or corpus or not given else []
    found = end_to_end(labs, [*chosen, *given])
    print_end_to_end(found, console())
    write_json(json_file, found.to_json())
    found.require()
