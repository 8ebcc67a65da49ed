"""kokoro-tvm bench: measures bundles and other systems on the same texts, in turn."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from kokoro_tvm.cli._output import JsonOption, RootOption, check_file, console, note, print_json
from kokoro_tvm.cli._speech import ThreadsOption

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kokoro_tvm.runtime import Bundle
    from kokoro_tvm.tools.bench.fidelity import Truth
    from kokoro_tvm.tools.bench.peer_models import PeerModels
    from kokoro_tvm.tools.bench.results import Isa, Result


_DEFAULTS = {None: ("cpu", "cpu-bf16"), "avx2": ("x86-64-v3",)}  # by the instruction set of the peers


def bench(
    bundles: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Folders of bundles.",
            show_default="artifacts/cpu and artifacts/cpu-bf16; with `--isa avx2` artifacts/x86-64-v3",
        ),
    ] = None,
    against: Annotated[
        str | None,
        typer.Option(
            "--against",
            metavar="PEERS",
            help="Peers to measure, separated by commas, or `none`.",
            show_default="all",
        ),
    ] = None,
    isa: Annotated[
        Literal["avx2"] | None,
        typer.Option(
            "--isa",
            help="Restrict the peers to this instruction set. A peer that cannot be restricted is not run.",
        ),
    ] = None,
    text: Annotated[
        str | None,
        typer.Option(
            "--text", metavar="TEXTS", help="Texts to speak, separated by commas.", show_default="all"
        ),
    ] = None,
    rounds: Annotated[
        int, typer.Option("--rounds", min=1, help="Number of warm calls of every system with every text.")
    ] = 5,
    cold: Annotated[int, typer.Option("--cold", min=0, help="Number of cold starts of every system.")] = 3,
    threads: ThreadsOption = None,
    json: JsonOption = False,
    json_file: Annotated[
        Path | None,
        typer.Option(
            "--json-file",
            metavar="FILE",
            help="Write the result to this file, and a chart to the file with the suffix .png.",
            show_default="ROOT/artifacts/bench.json, with `--isa avx2` bench-avx2.json",
        ),
    ] = None,
    root: RootOption = Path(),
) -> None:
    """Measure speed, fidelity and memory of bundles and peers.

    Peers are other systems that run Kokoro. All systems run in turn, with the same phonemes, voice and
    threads. The result is written after every round.
    """
    from kokoro_tvm.runtime.threads import choose_threads
    from kokoro_tvm.tools.bench.chart import can_draw
    from kokoro_tvm.tools.bench.measure import BenchPlan, build_utterances, measure
    from kokoro_tvm.tools.bench.peer_models import PeerModels
    from kokoro_tvm.tools.bench.systems import bundle_systems, choose_peers, peer_system
    from kokoro_tvm.tools.bench.texts import TEXTS, choose_texts

    artifacts, name = root / "artifacts", "bench" if isa is None else f"bench-{isa}"
    table = json_file or artifacts / f"{name}.json"
    picture = table.with_suffix(".png")
    # Refuse wrong arguments before anything that takes time.
    texts, names = choose_texts(_split(text)), _split(against)
    choose_peers(names)
    count = choose_threads(threads)
    opened = _open(bundles or _default_bundles(artifacts, isa))
    peers = choose_peers(names, gpu=any(bundle.gpu is not None for bundle in opened))
    check_file(table, picture)
    if not can_draw():
        install = "`pip install '.[lab]'` in the repository"
        note(f"note: {picture} will not be drawn without matplotlib: run {install}")
    models = PeerModels(artifacts, root / "recipes", opened[0].model, note)
    systems = [*bundle_systems(opened, count), *(peer_system(peer, models, count, isa) for peer in peers)]
    utterances = {text.name: build_utterances(text, opened[0]) for text in texts}
    (hello,) = build_utterances(TEXTS[0], opened[0])
    truth = _read_truth(models, opened[0])
    plan = BenchPlan(tuple(systems), utterances, hello, count, rounds, cold, isa, truth)
    latest: list[Result] = []

    def save(result: Result) -> None:
        latest[:] = [result]
        result.write(table)

    try:
        save(measure(plan, note, save))
    finally:  # also after an interruption
        for result in latest:
            _show(result, table, picture, json)
    _check_bundles(latest[-1])


def _read_truth(models: PeerModels, bundle: Bundle) -> Truth | None:
    """Return what the systems' speech is compared with; None, with a note, if there is nothing."""
    import numpy as np

    from kokoro_tvm.common.errors import InputError, KokoroTvmError
    from kokoro_tvm.tools.bench.fidelity import Truth
    from kokoro_tvm.tools.bench.measure import build_utterances
    from kokoro_tvm.tools.bench.texts import FIDELITY_TEXT

    (utterance,) = build_utterances(FIDELITY_TEXT, bundle)
    try:
        if bundle.synthetic:
            raise InputError(f"the weights of {bundle.root} are synthetic")
        return Truth(utterance, np.load(models.truth(utterance)))
    except KokoroTvmError as error:
        note(f"note: fidelity is not measured: {error}")
        return None


def _show(result: Result, table: Path, picture: Path, json: bool) -> None:
    """Print a result that was written to `table`, and draw it."""
    from kokoro_tvm.tools.bench.chart import can_draw, draw_chart
    from kokoro_tvm.tools.bench.table import print_result

    print_result(result, console(json=json))
    if json:
        print_json(result.model_dump(mode="json"))
    note(f"{table}", err=json)
    if can_draw():
        draw_chart(picture, result)
        note(f"{picture}", err=json)


def _split(text: str | None) -> list[str] | None:
    """Split a text at its commas; `none` is an empty list, and None stays None."""
    if text is None:
        return None
    return [] if text.strip() == "none" else [word.strip() for word in text.split(",")]


def _default_bundles(artifacts: Path, isa: Isa | None) -> list[Path]:
    """Return the default bundles that are built, or else the first one, whose error says what to do."""
    folders = [artifacts / name for name in _DEFAULTS[isa]]
    return [folder for folder in folders if (folder / "bundle.json").is_file()] or folders[:1]


def _open(folders: Sequence[Path]) -> list[Bundle]:
    """Return the manifests. Raise InputError if they are of different models."""
    from kokoro_tvm.common.errors import InputError
    from kokoro_tvm.runtime import read_bundle

    opened = [read_bundle(folder) for folder in folders]
    models = sorted({bundle.model for bundle in opened})
    if len(models) > 1:
        raise InputError(f"The bundles have different models ({', '.join(models)}). Measure them apart.")
    return opened


def _check_bundles(result: Result) -> None:
    """Raise BundleError if a bundle failed."""
    from kokoro_tvm.common.errors import BundleError

    failed = [f"{s.name} {s.problem}" for s in result.systems if s.ours and s.problem]
    if failed:
        raise BundleError(f"Not every bundle could be measured: {'; '.join(failed)}")
