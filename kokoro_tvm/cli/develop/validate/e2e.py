"""kokoro-tvm validate e2e: compares whole utterances of bundles with the stock model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kokoro_tvm.cli._output import (
    JsonFileOption,
    JsonOption,
    RootOption,
    check_file,
    console,
    note,
    write_json,
)
from kokoro_tvm.cli._speech import BUNDLE, DEFAULT_VOICE, ThreadsOption, print_notices
from kokoro_tvm.cli.develop.validate._options import SeedOption, SpeedOption


def e2e(
    bundle: Annotated[
        list[Path] | None,
        typer.Option(
            "--bundle",
            metavar="DIR",
            help="Folder of a bundle. May be repeated. The tables show its name.",
            show_default=str(BUNDLE),
        ),
    ] = None,
    utterance: Annotated[
        list[str] | None,
        typer.Option(
            "--utterance",
            metavar="NAME",
            help="Utterance of the recipe or of the corpus. May be repeated.",
            show_default="the recipe's",
        ),
    ] = None,
    corpus: Annotated[bool, typer.Option("--corpus", help="Use all 60 utterances of the corpus.")] = False,
    text: Annotated[
        str | None,
        typer.Option("--text", help="Text to speak instead: one paragraph, in the language of the voice."),
    ] = None,
    phonemes: Annotated[str | None, typer.Option("--phonemes", help="Phonemes to speak instead.")] = None,
    voice: Annotated[
        str | None,
        typer.Option("--voice", help="Voice of `--text` and `--phonemes`.", show_default=DEFAULT_VOICE),
    ] = None,
    speed: SpeedOption = 1.0,
    seed: SeedOption = 0,
    json: JsonOption = False,
    json_file: JsonFileOption = None,
    threads: ThreadsOption = None,
    root: RootOption = Path(),
) -> None:
    """Compare whole utterances with the stock model in float64.

    PyTorch float32 and a float64 run with other noise are compared in the same way.
    """
    from kokoro_tvm.runtime import read_bundle
    from kokoro_tvm.tools.lab.e2e import choose_utterances, compare_end_to_end
    from kokoro_tvm.tools.lab.setting import Lab, build_utterance
    from kokoro_tvm.validation.measure.e2e_table import print_end_to_end

    # Refuse wrong arguments before anything that takes time.
    check_file(json_file)
    own = []
    if text is not None or phonemes is not None:
        with print_notices():
            first = read_bundle((bundle or [BUNDLE])[0])
            own.append(build_utterance(phonemes, text, voice, speed, seed, first))
    labs = [Lab.open(folder, root, threads, note) for folder in bundle or [BUNDLE]]
    chosen = choose_utterances(labs[0], utterance or [], corpus) if utterance or corpus or not own else []
    result = compare_end_to_end(labs, [*chosen, *own])
    print_end_to_end(result, console(json=json))
    write_json(json_file, result.to_json(), json)
    result.require()
