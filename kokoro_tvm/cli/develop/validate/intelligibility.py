"""kokoro-tvm validate intelligibility: compares how well a recogniser understands a bundle and PyTorch."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kokoro_tvm.cli._output import (
    JsonFileOption,
    RootOption,
    check_file,
    console,
    progress,
    table,
    write_json,
)
from kokoro_tvm.cli._speech import BUNDLE, BundleOption, ThreadsOption, noted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rich.table import Table

__all__ = ["intelligibility"]

_MOST = 0.01


def intelligibility(
    bundle: BundleOption = BUNDLE,
    most: Annotated[
        float | None,
        typer.Option(
            "--max-increase",
            min=0.0,
            max=1.0,
            help="Largest increase of the word error rate over stock PyTorch's; 0.01 is 1 %.",
            show_default=f"the recipe's gate, or {_MOST}",
        ),
    ] = None,
    json_file: JsonFileOption = None,
    threads: ThreadsOption = None,
    root: RootOption = Path(),
) -> None:
    """Compare how well a speech recogniser understands the bundle and stock PyTorch.

    Both speak the same 24 sentences, in 4 of its English voices."""
    from dataclasses import asdict

    from kokoro_tvm.tools.lab.setting import Lab
    from kokoro_tvm.validation.measure import listening, recogniser
    from kokoro_tvm.validation.measure.intelligibility import validate_intelligibility

    check_file(json_file)
    ears = recogniser.open_recogniser()
    lab = Lab.open(bundle, root, threads, progress)
    if most is None:
        most = lab.recipe.gates.intelligibility.max_word_error_increase
    limits = {"max_word_error_increase": _MOST if most is None else most}
    with noted():
        heard = listening.listen(bundle, *lab.model, ears, threads=lab.threads, progress=progress)
    report = validate_intelligibility(heard, limits)
    (utterance,) = report.utterances
    out = console()
    out.print(rates_table(utterance.outputs or {}))
    for verdict in utterance.verdicts:
        out.print(f"{verdict}: {verdict.status}", highlight=False, soft_wrap=True)
    write_json(json_file, report.to_json() | {"heard": [asdict(h) for h in heard]})
    report.require()


def rates_table(rates: Mapping[str, Mapping[str, float]]) -> Table:
    """Word error rates by voice."""
    made = table("word error rate", ("kokoro-tvm", "PyTorch float32", "increase"))
    for voice, found in rates.items():
        ours, stock, more = (
            found[key] for key in ("word_error_rate", "stock_word_error_rate", "word_error_increase")
        )
        made.add_row(voice, f"{ours:.2%}", f"{stock:.2%}", f"{more:+.2%}")
    return made
