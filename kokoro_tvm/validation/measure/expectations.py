"""What the corpus sounds like in the stock model, in float64: frames and fingerprints in `expectations.json`.

A fingerprint is how loud each of a few mel bands is, and when: small enough for a text file, and of a kind
that float32's dust does not move, while another voice, another loudness or a shift by a frame does. So a
bundle can be held against the truth without the stock model being run, and the stock model against its
earlier output.

`kokoro-tvm validate corpus --update` writes the file.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kokoro_tvm.common.constants import SAMPLE_RATE
from kokoro_tvm.common.errors import ValidationError
from kokoro_tvm.common.output import write_text
from kokoro_tvm.validation.measure.acoustics import mel_power

__all__ = [
    "BANDS",
    "CENTROID_TOLERANCE_MS",
    "FLOOR_DB",
    "LEVEL_TOLERANCE_DB",
    "SEGMENTS",
    "Expectation",
    "Fingerprint",
    "compute_fingerprint",
    "read_expectations",
    "write_expectations",
]

BANDS = 8
SEGMENTS = 8
FLOOR_DB = -20.0
"""Level below which nothing is distinguished, dB: some 50 below the loudest band of speech."""

LEVEL_TOLERANCE_DB = 1.0
"""How far a fingerprint's level may be off: some times float32's dust, and 12 % of loudness."""

CENTROID_TOLERANCE_MS = 5.0
"""How far a fingerprint's centroid may be off: a fifth of a frame."""

_FILE = Path(__file__).with_name("expectations.json")
_SCHEMA = 1


@dataclass(frozen=True)
class Fingerprint:
    """Made by `fingerprint`."""

    levels_db: tuple[tuple[float, ...], ...]
    """SEGMENTS rows of BANDS levels, low bands first, in steps of 0.1 dB."""
    centroid_ms: float
    """Where the energy lies in time, ms from the start, in steps of 0.1 ms."""

    def level_distance_db(self, other: Fingerprint) -> float:
        """The largest difference of a level."""
        return float(np.abs(np.array(self.levels_db) - np.array(other.levels_db)).max())

    def centroid_distance_ms(self, other: Fingerprint) -> float:
        """How far the energy moved in time."""
        return abs(self.centroid_ms - other.centroid_ms)

    def to_json(self) -> dict[str, Any]:
        """Levels as one text, a word a stretch, so that an utterance stays a line."""
        rows = ("/".join(f"{level:.1f}" for level in row) for row in self.levels_db)
        return {"levels_db": " ".join(rows), "centroid_ms": self.centroid_ms}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Fingerprint:
        """What `to_json` gave; raises KeyError or ValueError for anything else."""
        rows = (row.split("/") for row in data["levels_db"].split(" "))
        levels = tuple(tuple(float(level) for level in row) for row in rows)
        if {len(row) for row in levels} != {BANDS} or len(levels) != SEGMENTS:
            raise ValueError(f"a fingerprint has {SEGMENTS} rows of {BANDS} levels")
        return cls(levels, float(data["centroid_ms"]))


def compute_fingerprint(audio: ArrayLike) -> Fingerprint:
    """Levels of 8 mel bands in 8 equal stretches of (samples,) audio at 24 kHz, and its energy's centroid.

    A level is 10 log10 of the mean of `mel_power` over the stretch's frames, at least -20 dB, to 0.1 dB: the
    mean comes before the logarithm, so that loud frames decide and quiet ones, where dust is, do not. Stretch
    i of n frames is floor(i·n/8) to ceil((i+1)·n/8), never empty. The centroid is sum(t·x²) / sum(x²) over
    all samples, ms, to 0.1 ms, and 0 of silence: a shift in time moves it by as much, however long the
    utterance. Raises ValueError when the audio is not 1-D, empty or not finite.
    """
    samples = np.asarray(audio, dtype=np.float64)
    if not np.isfinite(samples).all():
        raise ValueError("audio that is not finite has no fingerprint")
    power = mel_power(samples, BANDS)
    count = len(power)
    rows = np.array(
        [power[i * count // SEGMENTS : -(-(i + 1) * count // SEGMENTS)].mean(axis=0) for i in range(SEGMENTS)]
    )
    levels = 10.0 * np.log10(np.maximum(rows, 10.0 ** (FLOOR_DB / 10.0)))
    energy = np.square(samples)
    total = float(energy.sum())
    centroid = 1000.0 / SAMPLE_RATE * float(np.arange(samples.size) @ energy) / total if total else 0.0
    return Fingerprint(
        tuple(tuple(round(float(level), 1) for level in row) for row in levels),
        round(centroid, 1),
    )


@dataclass(frozen=True)
class Expectation:
    """Length and sound of one utterance of the corpus."""

    utterance: str
    """Its `validation.reference.corpus.utterance_digest`."""
    frames: int
    fingerprint: Fingerprint

    def missed(self, durations: NDArray[np.int64], audio: ArrayLike) -> list[str]:
        """One line for each way in which audio (samples,) with these frames a token differs from it."""
        frames = int(durations.sum())
        lines = [] if frames == self.frames else [f"{frames} frames where {self.frames} are due"]
        found = compute_fingerprint(audio)
        if (off := found.level_distance_db(self.fingerprint)) > LEVEL_TOLERANCE_DB:
            lines.append(f"a band is {off:.1f} dB off, {LEVEL_TOLERANCE_DB:g} are allowed")
        if (late := found.centroid_distance_ms(self.fingerprint)) > CENTROID_TOLERANCE_MS:
            lines.append(f"its energy lies {late:.1f} ms elsewhere, {CENTROID_TOLERANCE_MS:g} are allowed")
        return lines


def read_expectations() -> dict[str, Expectation]:
    """All of them, by utterance's name. Raises ValidationError when the file cannot be read."""
    try:
        data = json.loads(_FILE.read_text(encoding="utf-8"))
        if data["schema"] != _SCHEMA:
            raise ValueError(f"it has schema {data['schema']}, not {_SCHEMA}")
        return {name: _expectation(entry) for name, entry in data["utterances"].items()}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ValidationError(
            f"{_FILE} cannot be read ({error}). Make it again: kokoro-tvm validate corpus --update"
        ) from error


def _expectation(entry: Mapping[str, Any]) -> Expectation:
    return Expectation(entry["digest"], int(entry["frames"]), Fingerprint.from_json(entry))


def write_expectations(found: Mapping[str, Expectation]) -> Path:
    """Write the file, a line an utterance, whole or not at all; returns its path."""
    lines = []
    for name, expected in found.items():
        entry = {"digest": expected.utterance, "frames": expected.frames} | expected.fingerprint.to_json()
        lines.append(f"  {json.dumps(name)}: {json.dumps(entry)}")
    text = f'{{\n "schema": {_SCHEMA},\n "utterances": {{\n' + ",\n".join(lines) + "\n }\n}\n"
    write_text(_FILE, text)
    return _FILE
