"""kokoro-tvm validate corpus: compares a bundle with the expectations of the corpus."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kokoro_tvm.cli._output import JsonFileOption, JsonOption, RootOption, check_file, note, write_json
from kokoro_tvm.cli._speech import BUNDLE, BundleOption, ThreadsOption


def corpus(
    bundle: BundleOption = BUNDLE,
    utterance: Annotated[
        list[str] | None,
        typer.Option(
            "--utterance",
            metavar="NAME",
            help="Check this utterance alone. May be repeated.",
            show_default="all 60",
        ),
    ] = None,
    update: Annotated[
        bool,
        typer.Option(
            "--update",
            help="Write `kokoro_tvm/validation/measure/expectations.json` from the stock model in float64, "
            "after a change of `corpus.yaml`.",
        ),
    ] = False,
    json: JsonOption = False,
    json_file: JsonFileOption = None,
    threads: ThreadsOption = None,
    root: RootOption = Path(),
) -> None:
    """Compare a bundle with the corpus of expectations.

    The corpus has the frame counts and spectral fingerprints of 60 utterances. Only the bundle is needed: no
    checkpoint, no PyTorch.
    """
    from kokoro_tvm.common.errors import InputError
    from kokoro_tvm.runtime import Synthesizer
    from kokoro_tvm.tools.lab.corpus import check_bundle, update_corpus
    from kokoro_tvm.tools.lab.setting import Lab

    check_file(json_file)
    if update and (utterance or json or json_file):
        raise InputError(
            "--update writes the expectations of all 60 utterances. Leave out --utterance, --json and "
            "--json-file."
        )
    if update:
        typer.echo(f"{update_corpus(Lab.open(bundle, root, threads, note))}")
        return
    check = check_bundle(Synthesizer(bundle, threads), utterance or [], note)
    for line in () if json else check.lines():
        typer.echo(line)
    write_json(json_file, check.to_json(), json)
    check.require()
