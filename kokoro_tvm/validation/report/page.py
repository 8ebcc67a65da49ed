"""Writes the page from its data: numbers as text, signals as pictures and audio."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import soundfile
from jinja2 import Environment, PackageLoader, StrictUndefined
from numpy.typing import NDArray
from rich.filesize import decimal

from kokoro_tvm.common.constants import COMPONENT_AXES, FRAMES_PER_SECOND, SAMPLE_RATE
from kokoro_tvm.common.output import write_text
from kokoro_tvm.validation.measure.metrics import magnitude_spectrum
from kokoro_tvm.validation.report.facts import BundleFacts, Cell, SpokenUtterance, worst
from kokoro_tvm.validation.report.pictures import FLOOR_DB, curve, data_uri, envelope, spectrogram

Array = NDArray[Any]

_VOICED_HZ = 10.0  # lower frequencies are unvoiced, as for the source module
_TOP_HZ = 500  # top of the pitch drawings
_COLUMNS, _WAVE, _PITCH = 600, 120, 140  # width of the drawings, heights of waveform and pitch


@dataclass(frozen=True)
class _Player:
    title: str
    uri: str


@dataclass(frozen=True)
class _Picture:
    title: str
    uri: str
    alt: str


@dataclass(frozen=True)
class _Utterance:
    """An utterance as the template shows it."""

    name: str
    facts: Mapping[str, str]
    status: str
    metrics: Mapping[str, str]
    players: Sequence[_Player]
    spectrograms: Sequence[_Picture]
    waves: Mapping[str, str]
    pitch: Mapping[str, Sequence[str]]
    top_hz: int


def write_page(facts: BundleFacts, path: Path) -> Path:
    """Write the page, completely or not at all."""
    environment = Environment(
        loader=PackageLoader("kokoro_tvm.validation.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"number": _format_number, "size": decimal, "gate": _format_gate}
    buckets = {axis: _list_buckets(facts, axis) for axis in ("tokens", "frames")}
    data = {
        "manifest": facts.manifest,
        "verdict": _summarize(facts),
        "matrix": _build_matrix(facts),
        "buckets": buckets,
        "reports": [*facts.reports, facts.speech],
        "speech": worst(facts.speech),
        "utterances": [_convert_utterance(spoken, facts.speech) for spoken in facts.utterances],
        "longer": facts.longer,
        "stages": facts.stages,
        "files": _list_files(facts),
        "machine": facts.machine,
        "drawing": {"columns": _COLUMNS, "wave": _WAVE, "pitch": _PITCH},
        "floor": f"{-FLOOR_DB:.0f}",
    }
    text = environment.get_template("report.html.jinja").render(data)
    write_text(path, text)
    return path


def _summarize(facts: BundleFacts) -> dict[str, Any]:
    """Return the overall status, the missed gates and the numbers of verdicts."""
    reports = [*facts.reports, facts.speech]
    missed = [f"{_name_artifact(r)}: {line}" for r in reports for line in r["missed"]]
    passed = all(r["passed"] for r in reports)
    counts = {"passed": 0, "failed": 0, "not run": 0}
    for report in reports:
        for utterance in report["utterances"]:
            for verdict in utterance["verdicts"]:
                counts[verdict["status"]] += 1
        for verdict in report["overall"]:
            counts[verdict["status"]] += 1
    return {"status": "passed" if passed else "failed", "missed": missed, "counted": counts}


def _name_artifact(report: Mapping[str, Any]) -> str:
    """Return the name of a report's artifact: `decoder-5120`, or `speech`."""
    return report["component"] + ("" if report["bucket"] is None else f"-{report['bucket']}")


def _build_matrix(facts: BundleFacts) -> list[tuple[str, str, dict[int, Mapping[str, Any]]]]:
    """Return a row for each component: axis, and by bucket status, worst values and number of utterances."""
    rows = []
    for component, axis in COMPONENT_AXES.items():
        cells: dict[int, Mapping[str, Any]] = {
            r["bucket"]: {
                "status": _status_of(r),
                "gates": worst(r),
                "enforce": r["enforce"],
                "ran": sum(not u["status"].startswith("not run") for u in r["utterances"]),
                "of": len(r["utterances"]),
            }
            for r in facts.reports
            if r["component"] == component
        }
        rows.append((component, str(axis), cells))
    return rows


def _status_of(report: Mapping[str, Any]) -> str:
    """Return `passed`, `failed` or `not run` of a report."""
    if all(u["status"].startswith("not run") for u in report["utterances"]):
        return "not run"
    return "passed" if report["passed"] else "failed"


def _list_buckets(facts: BundleFacts, axis: str) -> list[int]:
    """List the buckets of the components on an axis."""
    components = [component for component, own in COMPONENT_AXES.items() if own == axis]
    return sorted({r["bucket"] for r in facts.reports if r["component"] in components})


def _list_files(facts: BundleFacts) -> list[tuple[str, int, str]]:
    """Return name, size and SHA-256 of every file in the manifest."""
    parts = facts.manifest["components"].values()
    entries = [e for key in ("voices", "front_end", "text") if (e := facts.manifest.get(key))]
    entries += [e for part in parts for e in (part["weights"], *part["libraries"])]
    return [(e["file"], e["size"], e["sha256"]) for e in entries]


def _convert_utterance(spoken: SpokenUtterance, speech: Mapping[str, Any]) -> _Utterance:
    """Convert an utterance for the template: facts, metrics, players and pictures."""
    reference = spoken.reference
    truth = np.ravel(reference.truth.audio)
    ours = np.zeros_like(truth)  # audio of another length is cut or padded
    ours[: spoken.audio.size] = spoken.audio[: truth.size]
    report = next(u for u in speech["utterances"] if u["name"] == reference.name)
    frames = int(reference.truth.durations.sum())
    off = int(np.count_nonzero(spoken.durations != reference.truth.durations))
    return _Utterance(
        name=reference.name,
        facts={
            "phonemes": reference.phonemes,
            "voice": reference.voice,
            "speed": f"{reference.speed:g}",
            "seed": str(reference.seed),
            "length": f"{frames} frames, {frames / FRAMES_PER_SECOND:.2f} s",
            "durations": "all equal" if off == 0 else f"{off} tokens differ",
        },
        status=report["status"],
        metrics={k: _format_number(v) for k, v in report["outputs"].get("audio", {}).items()},
        players=[
            _Player("Stock model, float64", _encode_flac(truth)),
            _Player("This bundle", _encode_flac(spoken.audio)),
        ],
        spectrograms=_draw_spectrograms(truth, ours),
        waves=_draw_waves(truth, ours),
        pitch={"reference": _draw_pitch(reference.truth.f0), "ours": _draw_pitch(spoken.f0)},
        top_hz=_TOP_HZ,
    )


def _draw_pitch(f0: Array) -> list[str]:
    """Return SVG polylines of the voiced parts of a pitch curve in Hz."""
    hertz = np.ravel(np.asarray(f0, np.float64))
    return curve(np.where(hertz > _VOICED_HZ, hertz, 0.0), _COLUMNS, _TOP_HZ, _PITCH)


def _draw_waves(truth: Array, ours: Array) -> dict[str, str]:
    """Return three outlines. The difference is amplified so that it is visible."""
    peak = max(float(np.abs(truth).max()), float(np.abs(ours).max()))
    difference = ours - truth
    largest = float(np.abs(difference).max())
    gain = 10.0 ** np.floor(np.log10(peak / largest / 2)) if largest > 0 and peak > 2 * largest else 1.0
    return {
        "reference": envelope(truth, _COLUMNS, peak, _WAVE),
        "ours": envelope(ours, _COLUMNS, peak, _WAVE),
        "difference": envelope(difference * gain, _COLUMNS, peak, _WAVE),
        "gain": f"{gain:,.0f}",
        "peak": f"{peak:.2f}",
        "largest": f"{largest:.2g}",
    }


def _draw_spectrograms(truth: Array, ours: Array) -> list[_Picture]:
    """Draw the spectrograms of truth, bundle and difference on one scale."""
    loudest = float(magnitude_spectrum(truth).max())
    seconds = truth.size / SAMPLE_RATE
    axes = f"{seconds:.1f} seconds to the right, 0 to 12 kHz upwards, brightness down to -{-FLOOR_DB:.0f} dB"
    signals = {
        "Stock model, float64": truth,
        "This bundle": ours,
        "Difference of the waveforms": ours - truth,
    }
    return [
        _Picture(title, data_uri("image/png", spectrogram(signal, loudest)), f"Spectrogram: {title}; {axes}.")
        for title, signal in signals.items()
    ]


def _encode_flac(audio: Array) -> str:
    """Encode audio as 16-bit FLAC. Audio above full scale is made quieter, so that nothing clips."""
    peak = max(1.0, float(np.abs(audio).max(initial=0.0)))
    stream = io.BytesIO()
    soundfile.write(
        stream, np.asarray(audio, np.float64) / peak, SAMPLE_RATE, format="FLAC", subtype="PCM_16"
    )
    return data_uri("audio/flac", stream.getvalue())


def _format_gate(cell: Cell | Mapping[str, Any]) -> str:
    """Format a gate: `snr_db 72.1, at least 30`."""
    data = cell if isinstance(cell, Mapping) else cell.__dict__
    bound, _, metric = data["gate"].partition("_")
    where = f"{data['output']}: " if data["output"] else ""
    if data["limit"] is None:
        return f"{where}{metric} {_format_number(data['value'])}, no limit"
    word = {"min": "at least", "max": "at most"}[bound]
    return f"{where}{metric} {_format_number(data['value'])}, {word} {_format_number(data['limit'])}"


def _format_number(value: float | str | None) -> str:
    """Format a metric with four digits, or more for a correlation near 1; a dash for None."""
    if value is None:
        return "–"
    if isinstance(value, str):
        return {"inf": "∞", "-inf": "−∞"}.get(value, value)
    if 0.99 < abs(value) < 1 and value != 1:  # the digits after the nines matter for correlations
        return f"{value:.7f}"
    return f"{value:.4g}"
