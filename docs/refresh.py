"""Measures again what the docs show: tables of docs/accuracy.md and docs/performance.md, the spectrograms.

    .venv/bin/pip install -e '.[docs]' && .venv/bin/python docs/refresh.py

reads what `doit` left in artifacts/: the reports, the build's records, the references and the bundle. With
the word `bench` it writes only the tables and the chart of what `kokoro-tvm bench` left there, with `lab`
only those of what `kokoro-tvm validate lengths` and `tails` left in artifacts/lab/, with
`load` only the table in docs/lab/serving.md of what `python -m kokoro_tvm.tools.bench.load` left, with `web`
that in docs/lab/web.md of what `python -m kokoro_tvm.tools.bench.web` left, and with `e2e` the
tables of

    .venv/bin/kokoro-tvm validate e2e --corpus --bundle artifacts/cpu --json-file artifacts/e2e.json
"""

from __future__ import annotations

import json
import platform
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from lab_tables import put_lab
from markdown_tables import merge, put, replace
from numpy.typing import NDArray

from kokoro_tvm import Synthesizer
from kokoro_tvm.builder.engine.store import Store
from kokoro_tvm.common.constants import FRAMES_PER_SECOND, SAMPLE_RATE
from kokoro_tvm.runtime.threads import usable_cores
from kokoro_tvm.tools.bench.chart import DARK, LIGHT, ChartColors, draw_chart
from kokoro_tvm.tools.bench.load.results import LoadResult, rows
from kokoro_tvm.tools.bench.results import Result, SystemResult
from kokoro_tvm.tools.bench.web import results as web_results
from kokoro_tvm.validation.measure.e2e_table import COLUMNS
from kokoro_tvm.validation.measure.metrics import HOP, magnitude_spectrum, snr_db
from kokoro_tvm.validation.reference.reference import Reference, load_reference

DOCS = Path(__file__).parent
ARTIFACTS = DOCS.parent / "artifacts"
WORK = ARTIFACTS / ".build" / "cpu"
BUNDLE = ARTIFACTS / "cpu"
PROCESSORS = {"family 25, model 17": "Zen 4", "family 26, model 2": "Zen 5"}
FLOOR = -90.0  # dB below the loudest bin, where the pictures turn black


def main() -> None:
    parts: dict[str, Callable[[], None]] = {
        "bench": lambda: _put_bench(DOCS / "performance.md"),
        "web": lambda: put_web(DOCS / "lab/web.md", ARTIFACTS / "web.json"),
        "load": lambda: put_load(DOCS / "lab/serving.md", ARTIFACTS / "load.json"),
        "e2e": lambda: _put_end_to_end(DOCS / "accuracy.md"),
        "lab": lambda: put_lab(DOCS / "lab/accuracy.md", ARTIFACTS / "lab"),
    }
    if sys.argv[1:]:
        parts[sys.argv[1]]()
        return
    references = [
        load_reference(p) for p in sorted((ARTIFACTS / "reference/kokoro-82m").glob("*.safetensors"))
    ]
    references.sort(key=lambda reference: reference.frames)
    tts = Synthesizer(BUNDLE)
    put(DOCS / "accuracy.md", "speech", _speech_table(references))
    put(DOCS / "lab/accuracy.md", "components", _component_table(references))
    put(DOCS / "lab/performance.md", "build", _build_table())
    question = next(r for r in references if r.name == "question")
    for name, colors in (("spectrograms", LIGHT), ("spectrograms-dark", DARK)):
        _draw(DOCS / f"{name}.png", tts, question, colors)


def put_web(page: Path, file: Path) -> None:
    """The table of a bundle for WebAssembly and its peers, and what it was measured on."""
    result = web_results.WebResult.read(file)
    peers = ", ".join(f"{name} {version}" for name, version in result.versions.items())
    caption = f"{result.machine}; {result.node}, {peers}; {result.rounds} rounds. "
    replace(page, "web-machine", f"{caption}{_busy(result.others_cores)}{result.date}.")
    put(page, "web", web_results.rows(result))


def put_load(page: Path, file: Path) -> None:
    """The table of servers under load, and what it was measured on."""
    result = LoadResult.read(file)
    turns = "one round" if result.rounds == 1 else f"each of {result.rounds} rounds"
    caption = f"{result.machine}; {result.threads} threads. Each server for {result.seconds:g} s in {turns}, "
    caption += f"{result.sentences} sentences and {result.pages} pages. "
    if not result.complete:
        caption += "The run was cut off before its last round. "
    replace(page, "load-machine", f"{caption}{_busy(result.others_cores)}{result.date}.")
    put(page, "load", rows(result.loads))


def _busy(cores: float | None) -> str:
    return "" if cores is None else f"Others kept {cores:.2f} cores busy. "


def _put_bench(path: Path) -> None:
    result = Result.read(ARTIFACTS / "bench.json")
    peaks = " and ".join(f"{v / 1e9:.0f} GFLOP/s in {name}" for name, v in result.peak_flops_per_s.items())
    caption = f"{result.machine}; {result.threads} threads, {result.rounds} rounds, voice {result.voice}. "
    caption += f"Peak: {peaks}. "
    if not result.complete:
        caption += "The run was cut off before its end. "
    replace(path, "bench-machine", f"{caption}{_busy(result.others_cores)}{result.date}.")
    for measured in (result, *map(Result.read, sorted(ARTIFACTS.glob("bench-*.json")))):
        merge(DOCS / "lab/performance.md", "bench-machines", 2, _machine_rows(measured))
    replace(path, "bench-summary", _bench_summary(result))
    put(path, "bench", _bench_table(result))
    put(path, "bench-systems", _bench_systems_table(result))
    put(DOCS / "lab/performance.md", "bench-components", _bench_components_table(result))
    draw_chart(DOCS / "bench.png", result)
    draw_chart(DOCS / "bench-dark.png", result, DARK)


def _machine_rows(result: Result) -> Iterator[list[str]]:
    """Yield the median seconds of each bundle on this machine, and their share of its fastest peer's time."""
    machine = f"{result.machine.cpu}, {result.threads} threads"
    machine += f", peers held to {result.isa.upper()}" if result.isa else ""
    titles = {system.name: system.title for system in result.systems}
    for system in (system for system in result.systems if system.ours):
        against = "best float32 peer" if system.precision == "float32" else "best peer"
        ratios = {c.text: c for c in result.comparisons if (c.name, c.against) == (system.name, against)}
        cells = [
            f"{timed.median_s:.2f} s, {ratio.ratio:.2f} of {titles[ratio.of]}"
            if (timed := system.on(text)) and (ratio := ratios.get(text))
            else "not run"
            for text in ("short", "medium", "long")
        ]
        yield [machine, f"`{system.name}`", result.date, *cells]


def _bench_summary(result: Result) -> str:
    """What the longest text that every bundle has spoken takes, and how much faster that is than peers."""
    systems = {system.name: system for system in result.systems}
    bundles = [system for system in result.systems if system.ours]
    text = [text.name for text in result.texts if all(bundle.on(text.name) for bundle in bundles)][-1]
    cpu = next((name for part, name in PROCESSORS.items() if part in result.machine.cpu), result.machine.cpu)
    sentences = []
    for bundle in bundles:
        kinds = {"best peer": "the fastest peer of any precision"}
        if bundle.precision == "float32":
            kinds = {"best float32 peer": "the fastest float32 peer", "pytorch": "the stock model"}
        gains = [
            f"{1 / c.ratio:.1f} times faster than {kinds[c.against]} ({systems[c.of].title}, fidelity "
            f"{_fidelity(systems[c.of])})"
            for c in result.comparisons
            if (c.name, c.text) == (bundle.name, text) and c.against in kinds
        ]
        timed = bundle.on(text)
        assert timed is not None  # by the choice of the text
        what = f"{timed.audio_s:.0f} s of speech take" if bundle is bundles[0] else "they take"
        sentences.append(
            f"in {bundle.precision} {what} {timed.median_s:.1f} s (fidelity {_fidelity(bundle)})"
            + (f": {' and '.join(gains)}" if gains else "")
        )
    return f"**In short.** On {result.threads} threads of a {cpu} processor, {'; '.join(sentences)}."


def _bench_table(result: Result) -> Iterator[list[str]]:
    """Fidelity, and the real-time factor with the median seconds."""
    yield ["system", "fidelity", *(f"{text.name}, {sum(text.tokens)} tokens" for text in result.texts)]
    for system in result.systems:
        cells = [
            f"{timed.rtf:.3f} ({timed.median_s:.2f} s)" if (timed := system.on(text.name)) else "–"
            for text in result.texts
        ]
        yield [_bold(system.title, system.ours), _fidelity(system), *cells]


def _fidelity(system: SystemResult) -> str:
    return "–" if system.fidelity is None else f"{system.fidelity:.4f}"


def _bench_systems_table(result: Result) -> Iterator[list[str]]:
    peaks = [f"peak memory, {text.name}" for text in result.texts]
    yield ["system", "version", "runs as", "cold start", *peaks, "on disk"]
    for system in result.systems:
        memory = [
            f"{timed.peak_rss_bytes / 1e6:.0f} MB"
            if (timed := system.on(text.name)) and timed.peak_rss_bytes is not None
            else "–"
            for text in result.texts
        ]
        cold = f"{system.cold_start_s:.2f} s" if system.cold_start_s is not None else "–"
        cold += f" (imports {system.import_s:.2f} s)" if system.import_s is not None else ""
        disk = f"{system.disk_bytes / 1e6:.0f} MB" if system.disk_bytes is not None else "–"
        versions = ", ".join(f"{name} {version}" for name, version in system.versions.items())
        runs_as = system.problem or system.details
        yield [_bold(system.title, system.ours), versions, runs_as, cold, *memory, disk]


def _bench_components_table(result: Result) -> Iterator[list[str]]:
    yield ["bundle, text", "component", "seconds", "GFLOP", "GFLOP/s", "share of peak"]
    for system in result.systems:
        for timed in system.texts:
            for each in timed.components:
                share = "–" if each.share_of_peak is None else f"{each.share_of_peak:.0%}"
                work = [f"{each.flops / 1e9:.1f}", f"{each.flops_per_s / 1e9:.0f}"]
                label = f"{system.name}, {timed.text}"
                yield [label, f"`{each.component}`", f"{each.seconds_s:.4f} s", *work, share]


def _put_end_to_end(path: Path) -> None:
    found = json.loads((ARTIFACTS / "e2e.json").read_text(encoding="utf-8"))
    put(path, "e2e", _end_to_end_table(found))
    put(DOCS / "lab/accuracy.md", "e2e-utterances", _end_to_end_utterances(found))


def _end_to_end_table(found: dict[str, Any]) -> Iterator[list[str]]:
    """Of every side, bundles first, the median and in parentheses the worst."""
    yield ["side", *(f"{column.heading} {column.unit}".strip() for column in COLUMNS)]
    for side in dict.fromkeys([*found["bundles"], *(s for u in found["utterances"] for s in u["sides"])]):
        measured = [u["sides"][side] for u in found["utterances"] if side in u["sides"]]
        pairs = [column.median_and_worst([float(m[column.metric]) for m in measured]) for column in COLUMNS]
        cells = [f"{median} ({worst})" for median, worst in pairs]
        yield [f"`{side}`" if side in found["bundles"] else side, *cells]


def _end_to_end_utterances(found: dict[str, Any]) -> Iterator[list[str]]:
    columns = [f"`{bundle}`" for bundle in found["bundles"]]
    yield ["utterance, voice", "phonemes", "audio", *columns, "PyTorch float32"]
    for u in found["utterances"]:
        cells = [_heard(u["sides"].get(bundle)) for bundle in found["bundles"]]
        seconds = f"{u['frames'] / FRAMES_PER_SECOND:.2f} s"
        name = f"{u['name']}, {u['voice']}"
        yield [name, str(u["phonemes"]), seconds, *cells, _heard(u["sides"]["pt.dynamic"])]


def _heard(side: dict[str, Any] | None) -> str:
    return f"{side['snr_db']:.1f} dB, {side['magnitude_correlation']:.6f}" if side else "not run"


def _bold(title: str, ours: bool) -> str:
    return f"**{title}**" if ours else title


def _report(path: Path) -> dict[str, Any]:
    return {u["name"]: u["outputs"] for u in json.loads(path.read_text(encoding="utf-8"))["utterances"]}


def _speech_table(references: Sequence[Reference]) -> Iterator[list[str]]:
    report = _report(WORK / "speech/speech.json")
    yield ["utterance", "audio", "kokoro-tvm, SNR", "PyTorch float32, SNR", "gain", "magnitude correlation"]
    for reference in references:
        audio = report[reference.name]["audio"]
        decibels = [f"{audio[key]:.1f} dB" for key in ("snr_db", "pytorch_snr_db", "gain_db")]
        seconds = f"{reference.truth.audio.size / SAMPLE_RATE:.2f} s"
        yield [reference.name, seconds, *decibels, f"{audio['magnitude_correlation']:.7f}"]


def _component_table(references: Sequence[Reference]) -> Iterator[list[str]]:
    yield ["artifact, output", *(f"{r.name}" for r in references)]
    for path in sorted(WORK.glob("*/validation.json")):
        report = _report(path)
        for output in report[references[0].name]:
            cells = [report[r.name][output] for r in references]
            values = [f"{c['snr_db']:.0f} ({c['pytorch_snr_db']:.0f}) dB" for c in cells]
            yield [f"`{path.parent.name}` {output}", *values]


def _build_table() -> Iterator[list[str]]:
    yield ["stage", "seconds"]
    spent: dict[str, float] = {}
    store = Store(ARTIFACTS / ".store")
    for name in store.stages():
        recipe, stage = name.split(".")[:2]
        record = store.current(name)
        if recipe in ("cpu", "kokoro-82m") and record is not None:
            spent[stage] = spent.get(stage, 0.0) + record.seconds
    for stage, seconds in sorted(spent.items(), key=lambda item: -item[1]):
        yield [stage, f"{seconds:.0f}"]
    yield ["together", f"{sum(spent.values()):.0f}"]


def _speak(tts: Synthesizer, reference: Reference) -> Any:
    return tts.run(reference.tokens[0], reference.ref_s, speed=reference.speed, seed=reference.seed)


def _draw(path: Path, tts: Synthesizer, reference: Reference, colors: ChartColors) -> None:
    """Stock PyTorch float32 and the bundle, each with its difference from the float64 run, on one scale."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot
    from PIL import Image

    truth = reference.truth.audio
    sides = {
        "stock PyTorch, float32": reference.dynamic.audio,
        "kokoro-tvm, float32": _speak(tts, reference).audio,
    }
    top = float(magnitude_spectrum(truth).max())
    with pyplot.rc_context(colors.style):
        figure, axes = pyplot.subplots(
            2, 2, figsize=(10, 5.4), sharex=True, sharey=True, layout="constrained"
        )
        for column, (name, audio) in zip(axes.T, sides.items(), strict=True):
            snr = snr_db(audio, truth)
            for axis, signal, title in (
                (column[0], audio, name),
                (column[1], audio - truth, f"its difference from stock float64: {snr:.1f} dB SNR"),
            ):
                image = _spectrogram(axis, signal, top)
                axis.set_title(title, fontsize=10)
        for axis in axes[:, 0]:
            axis.set_ylabel("kHz")
        for axis in axes[1]:
            axis.set_xlabel("s")
        figure.colorbar(image, ax=axes, label="dB below the loudest bin", shrink=0.8, pad=0.01)
        figure.savefig(path, dpi=80)
    with Image.open(path) as drawn:  # a palette looks the same at half the size
        drawn.convert("RGB").quantize(256).save(path, optimize=True)


def _spectrogram(axis: Any, signal: NDArray[Any], top: float) -> Any:
    magnitude = np.maximum(magnitude_spectrum(signal) / top, 10.0 ** (FLOOR / 20))
    extent = (0.0, len(magnitude) * HOP / SAMPLE_RATE, 0.0, SAMPLE_RATE / 2e3)
    decibels = 20 * np.log10(magnitude.T)
    return axis.imshow(
        decibels, origin="lower", aspect="auto", extent=extent, vmin=FLOOR, vmax=0.0, cmap="magma"
    )


if __name__ == "__main__":
    print(f"{platform.machine()}, {usable_cores()} cores")
    main()
