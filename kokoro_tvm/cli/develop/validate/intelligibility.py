"""kokoro-tvm validate intelligibility: compares word error rates of a bundle and of PyTorch."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from kokoro_tvm.cli._output import (
    JsonFileOption,
    JsonOption,
    RootOption,
    check_file,
    console,
    note,
    table,
    write_json,
)
from kokoro_tvm.cli._speech import BUNDLE, BundleOption, ThreadsOption, print_notices

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rich.table import Table


_MAX_INCREASE = 0.01


def intelligibility(
    bundle: BundleOption = BUNDLE,
    json: JsonOption = False,
    json_file: JsonFileOption = None,
    threads: ThreadsOption = None,
    root: RootOption = Path(),
) -> None:
    """Compare the word error rates of a bundle and of PyTorch.

    Both speak the same 24 sentences in 4 English voices of the bundle, and a speech recogniser listens. The
    increase may be what the recipe's gate allows, else 0.01 (1 %).
    """
    from dataclasses import asdict

    from kokoro_tvm.tools.lab.setting import Lab
    from kokoro_tvm.validation.measure import listening, recogniser
    from kokoro_tvm.validation.measure.intelligibility import validate_intelligibility

    check_file(json_file)
    listener = recogniser.open_recogniser()
    lab = Lab.open(bundle, root, threads, note)
    gate = lab.recipe.gates.intelligibility.max_word_error_increase
    limits = {"max_word_error_increase": _MAX_INCREASE if gate is None else gate}
    with print_notices():
        heard = listening.listen(bundle, *lab.model, listener, threads=lab.threads, progress=note)
    report = validate_intelligibility(heard, limits)
    (utterance,) = report.utterances  # the 24 sentences are judged as one
    out = console(json=json)
    out.print(_table(utterance.outputs))
    for verdict in utterance.verdicts:
        out.print(f"{verdict}: {verdict.status}", highlight=False, soft_wrap=True)
    write_json(json_file, report.to_json() | {"heard": [asdict(h) for h in heard]}, json)
    report.require()


def _table(rates: Mapping[str, Mapping[str, float]]) -> Table:
    rows = table("word error rate", ("kokoro-tvm", "PyTorch float32", "increase"))
    for voice, values in rates.items():
        own, stock = values["word_error_rate"], values["stock_word_error_rate"]
        rows.add_row(voice, f"{own:.2%}", f"{stock:.2%}", f"{values['word_error_increase']:+.2%}")
    return rows
