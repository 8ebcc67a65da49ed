"""Writes the page from its data: numbers as text, signals as pictures and audio."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import soundfile
from jinja2 import Environment, PackageLoader, StrictUndefined
from numpy.typing import NDArray
from rich.filesize import decimal

from kokoro_tvm.common.constants import FRAMES_PER_SECOND, SAMPLE_RATE
from kokoro_tvm.common.output import write_text
from kokoro_tvm.validation.measure.metrics import magnitude_spectrum
from kokoro_tvm.validation.report.facts import BundleFacts, Cell, SpokenUtterance, worst
from kokoro_tvm.validation.report.pictures import (
    FLOOR_DB,
    css_gradient,
    curve,
    data_uri,
    envelope,
    spectrogram,
)

Array = NDArray[Any]

_LEAST_DB, _MOST_DB = -10.0, 150.0  # ends of all bars
_VOICED_HZ = 10.0  # lower frequencies are unvoiced, as for the source module
_TOP_HZ = 500  # top of the pitch drawings
_COLUMNS, _WAVE, _PITCH = 600, 120, 140  # width of the drawings, heights of waveform and pitch
_MOST_TICKS = 6  # on an axis of time
_LARGEST_KHZ = SAMPLE_RATE // 2000


@dataclass(frozen=True)
class _Bar:
    """The way from a limit to a value, in percent of the common scale."""

    limit: float
    value: float

    @property
    def start(self) -> float:
        """Its left end."""
        return min(self.limit, self.value)

    @property
    def width(self) -> float:
        """Its length."""
        return abs(self.value - self.limit)


def write_page(facts: BundleFacts, path: Path) -> Path:
    """Write the page, completely or not at all; return `path`."""
    environment = Environment(
        loader=PackageLoader("kokoro_tvm.validation.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "number": _format_number,
        "size": decimal,
        "gate": _format_gate,
        "bar": _measure_bar,
        "status": _describe_status,
    }
    signals = [(np.ravel(spoken.reference.truth.audio), spoken.audio) for spoken in facts.utterances]
    peak = max((float(np.abs(signal).max()) for pair in signals for signal in pair), default=1.0)
    files = _list_files(facts)
    data = {
        "manifest": facts.manifest,
        "verdict": _summarize(facts),
        "size": sum(size for _, size, _ in files),
        "speed": _measure_speed(facts.utterances),
        "gain": _find_least_gain(facts.speech),
        "artifacts": [_summarize_artifact(report) for report in (facts.speech, *facts.reports)],
        "reports": [*facts.reports, facts.speech],
        "utterances": [_convert_utterance(spoken, facts.speech, peak) for spoken in facts.utterances],
        "longer": facts.longer,
        "stages": facts.stages,
        "files": files,
        "machine": facts.machine,
        "drawing": {"columns": _COLUMNS, "wave": _WAVE, "pitch": _PITCH},
        "frequencies": _place_ticks(_LARGEST_KHZ, 4),
        "pitches": _place_ticks(_TOP_HZ, 100),
        "colors": css_gradient(),
        "floor": f"{-FLOOR_DB:.0f}",
        "decibels": f"{_LEAST_DB:.0f} to {_MOST_DB:.0f}",
    }
    text = environment.get_template("report.html.jinja").render(data)
    write_text(path, text)
    return path


def _summarize(facts: BundleFacts) -> dict[str, Any]:
    """Return the overall status, the missed gates and the numbers of verdicts."""
    reports = [*facts.reports, facts.speech]
    missed = [f"{_name_artifact(r)}: {line}" for r in reports for line in r["missed"]]
    passed = all(r["passed"] for r in reports)
    verdicts = [v for r in reports for u in r["utterances"] for v in u["verdicts"]]
    verdicts += [v for r in reports for v in r["overall"]]
    counts = Counter(map(_describe_status, verdicts))
    return {"status": "passed" if passed else "failed", "missed": missed, "counts": counts}


def _describe_status(verdict: Cell | Mapping[str, Any]) -> str:
    """Return the status of a verdict; a value without a limit is measured, not missing."""
    data = verdict if isinstance(verdict, Mapping) else verdict.__dict__
    is_measured = data["status"] == "not run" and data["limit"] is None and data["value"] is not None
    return "measured, no limit" if is_measured else str(data["status"])


def _measure_speed(utterances: Sequence[SpokenUtterance]) -> str:
    """Return how many times as fast as real time the utterances were computed, or ""."""
    timed = [(spoken.audio.size / SAMPLE_RATE, spoken.seconds) for spoken in utterances if spoken.seconds]
    return f"{sum(audio for audio, _ in timed) / sum(wall for _, wall in timed):.1f}" if timed else ""


def _find_least_gain(speech: Mapping[str, Any]) -> str:
    """Return the least gain of all utterances in dB, or "" if none was measured."""
    gains = [u["outputs"].get("audio", {}).get("gain_db") for u in speech["utterances"]]
    known = [float(gain) for gain in gains if gain is not None]
    return f"{min(known):.1f}" if known else ""


def _name_artifact(report: Mapping[str, Any]) -> str:
    """Return the name of a report's artifact: `decoder-5120`, or `speech`."""
    return report["component"] + ("" if report["bucket"] is None else f"-{report['bucket']}")


def _summarize_artifact(report: Mapping[str, Any]) -> dict[str, Any]:
    """Return a report as a row of the table: its worst values, and the one nearest to its limit."""
    cells = sorted(worst(report), key=lambda cell: (cell.output, cell.gate.partition("_")[2]))
    barred = [(bar, cell) for cell in cells if (bar := _measure_bar(cell)) is not None]
    nearest = min(barred, key=lambda pair: pair[0].value - pair[0].limit, default=None)
    return {
        "name": _name_artifact(report),
        "status": _status_of(report),
        "cells": cells,
        "nearest": nearest and nearest[1],
        "enforce": report["enforce"],
        "ran": sum(not u["status"].startswith("not run") for u in report["utterances"]),
        "of": len(report["utterances"]),
    }


def _measure_bar(cell: Cell) -> _Bar | None:
    """Return the bar of a least value in decibels; None for other gates, and without a limit or number."""
    if not cell.gate.startswith("min_") or not cell.gate.endswith("_db") or cell.limit is None:
        return None
    if np.isnan(float(cell.value)):
        return None
    decibels = np.clip([float(cell.limit), float(cell.value)], _LEAST_DB, _MOST_DB)
    return _Bar(*(100 * (decibels - _LEAST_DB) / (_MOST_DB - _LEAST_DB)))


def _status_of(report: Mapping[str, Any]) -> str:
    """Return `passed`, `failed` or `not run` of a report."""
    if all(u["status"].startswith("not run") for u in report["utterances"]):
        return "not run"
    return "passed" if report["passed"] else "failed"


def _list_files(facts: BundleFacts) -> list[tuple[str, int, str]]:
    """Return name, size and SHA-256 of every file in the manifest."""
    parts = facts.manifest["components"].values()
    entries = [e for key in ("voices", "front_end", "text") if (e := facts.manifest.get(key))]
    entries += [e for part in parts for e in (part["weights"], *part["libraries"])]
    return [(e["file"], e["size"], e["sha256"]) for e in entries]


def _convert_utterance(spoken: SpokenUtterance, speech: Mapping[str, Any], peak: float) -> dict[str, Any]:
    """Convert an utterance for the template: facts, metrics, players and pictures."""
    reference = spoken.reference
    truth = np.ravel(reference.truth.audio)
    ours = np.zeros_like(truth)  # audio of another length is cut or padded
    ours[: spoken.audio.size] = spoken.audio[: truth.size]
    report = next(u for u in speech["utterances"] if u["name"] == reference.name)
    frames = int(reference.truth.durations.sum())
    off = int(np.count_nonzero(spoken.durations != reference.truth.durations))
    measured = report["outputs"].get("audio", {})
    speed = "" if reference.speed == 1 else f", {reference.speed:g}×"
    seconds = truth.size / SAMPLE_RATE
    return {
        "name": reference.name,
        "text": spoken.text,
        "phonemes": reference.phonemes,
        "voice": f"{reference.voice}{speed}",
        "gain": _format_decibels(measured.get("gain_db")),
        "facts": {
            "seed": str(reference.seed),
            "length": f"{frames} frames, {frames / FRAMES_PER_SECOND:.2f} s",
            "durations": "all equal" if off == 0 else f"{off} tokens differ",
        },
        "status": report["status"],
        "metrics": {k: _format_number(v) for k, v in measured.items()},
        "players": [
            {"title": title, "uri": _encode_flac(audio)}
            for title, audio in (("Stock model, float64", truth), ("This bundle", spoken.audio))
        ],
        "spectrograms": _draw_spectrograms(truth, ours),
        "waves": _draw_waves(truth, ours, peak),
        "pitch": {"reference": _draw_pitch(reference.truth.f0), "ours": _draw_pitch(spoken.f0)},
        "times": _place_ticks(seconds, _choose_step(seconds)),
    }


def _place_ticks(length: float, step: float) -> list[dict[str, Any]]:
    """Return the labels at every `step` of an axis, each at a percentage of its length."""
    values = [number * step for number in range(int(length / step) + 1)]
    return [{"place": 100 * value / length, "label": f"{value:g}"} for value in values]


def _choose_step(seconds: float) -> float:
    """Return the step of at most six labels on an axis of time: 1, 2 or 5 times a power of ten."""
    steps = (factor * 10.0**power for power in range(-3, 4) for factor in (1, 2, 5))
    return next(step for step in steps if seconds / step < _MOST_TICKS)


def _draw_pitch(f0: Array) -> list[str]:
    """Return SVG polylines of the voiced parts of a pitch curve in Hz."""
    hertz = np.ravel(np.asarray(f0, np.float64))
    return curve(np.where(hertz > _VOICED_HZ, hertz, 0.0), _COLUMNS, _TOP_HZ, _PITCH)


def _draw_waves(truth: Array, ours: Array, peak: float) -> dict[str, str]:
    """Return three outlines of half the height `peak`. The difference is amplified so that it is visible."""
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


def _draw_spectrograms(truth: Array, ours: Array) -> list[dict[str, str]]:
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
        {
            "title": title,
            "uri": data_uri("image/png", spectrogram(signal, loudest)),
            "alt": f"Spectrogram: {title}; {axes}.",
        }
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
    """Format a gate: `audio: SNR 72.1 dB, at least 30`."""
    data = cell if isinstance(cell, Mapping) else cell.__dict__
    bound, _, metric = data["gate"].partition("_")
    where = f"{data['output']}: " if data["output"] else ""
    number = _format_decibels if metric.endswith("_db") else _format_number
    name = metric.removesuffix("_db").replace("_", " ").replace("snr", "SNR")
    value = f"{where}{name} {number(data['value'])}"
    if data["limit"] is None:
        return value
    word = {"min": "at least", "max": "at most"}[bound]
    return f"{value}, {word} {_format_number(data['limit'])}"


def _format_decibels(value: float | str | None) -> str:
    """Format a level with one decimal: `72.1 dB`."""
    return f"{value:.1f} dB" if isinstance(value, float) else f"{_format_number(value)} dB"


def _format_number(value: float | str | None) -> str:
    """Format a metric with four digits, or more for a correlation near 1; a dash for None."""
    if value is None:
        return "–"
    if isinstance(value, str):
        return {"inf": "∞", "-inf": "−∞"}.get(value, value)
    if 0.99 < abs(value) < 1 and value != 1:  # the digits after the nines matter for correlations
        return f"{value:.7f}"
    return f"{value:.4g}"
