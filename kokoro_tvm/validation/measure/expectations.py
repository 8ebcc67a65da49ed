"""Frames and fingerprints of the corpus in the stock model in float64: `expectations.json`.

A fingerprint has the levels of a few mel bands over time. It is small enough for a text file. Float32 does
not change it, but another voice, another loudness or a shift by a frame does. So a bundle can be compared
with the truth without running the stock model. `kokoro-tvm validate corpus --update` writes the file.
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

BANDS = 8
SEGMENTS = 8
FLOOR_DB = -20.0
"""Lowest level, dB: some 50 dB below the loudest band of speech."""

LEVEL_TOLERANCE_DB = 1.0
"""Tolerance of a level: several times the error of float32, and 12 % of loudness."""

CENTROID_TOLERANCE_MS = 5.0
"""Tolerance of the centroid: a fifth of a frame."""

_FILE = Path(__file__).with_name("expectations.json")
_SCHEMA = 1


@dataclass(frozen=True)
class Fingerprint:
    """Levels and centroid of an utterance, by `compute_fingerprint`."""

    levels_db: tuple[tuple[float, ...], ...]
    """SEGMENTS rows of BANDS levels, low bands first, in steps of 0.1 dB."""
    centroid_ms: float
    """Centroid of the energy in time, ms from the start, in steps of 0.1 ms."""

    def level_distance_db(self, other: Fingerprint) -> float:
        """Return the largest difference of a level."""
        return float(np.abs(np.array(self.levels_db) - np.array(other.levels_db)).max())

    def to_json(self) -> dict[str, Any]:
        """Return JSON data with the levels as one string, so that an utterance stays on one line."""
        rows = ("/".join(f"{level:.1f}" for level in row) for row in self.levels_db)
        return {"levels_db": " ".join(rows), "centroid_ms": self.centroid_ms}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Fingerprint:
        """Parse the result of `to_json`. Raises KeyError or ValueError for anything else."""
        rows = (row.split("/") for row in data["levels_db"].split(" "))
        levels = tuple(tuple(float(level) for level in row) for row in rows)
        if {len(row) for row in levels} != {BANDS} or len(levels) != SEGMENTS:
            raise ValueError(f"a fingerprint has {SEGMENTS} rows of {BANDS} levels")
        return cls(levels, float(data["centroid_ms"]))


def compute_fingerprint(audio: ArrayLike) -> Fingerprint:
    """Compute the levels of 8 mel bands in 8 equal segments of the audio, and the centroid of its energy.

    A level is 10 log10 of the mean of `mel_power` over the frames of a segment, at least -20 dB. The mean
    comes before the logarithm, so that loud frames decide. Segment i of n frames is floor(i·n/8) to
    ceil((i+1)·n/8). The centroid is sum(t·x²) / sum(x²), and 0 for silence.

    Args:
        audio: (samples,) at 24 kHz.

    Raises:
        ValueError: The audio is not 1-D, empty or not finite.
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
        tuple(tuple(round(float(level), 1) for level in row) for row in levels), round(centroid, 1)
    )


@dataclass(frozen=True)
class Expectation:
    """Expected length and sound of one utterance of the corpus."""

    utterance: str
    """Digest by `corpus.utterance_digest`."""
    frames: int
    fingerprint: Fingerprint

    def missed(self, durations: NDArray[np.int64], audio: ArrayLike) -> list[str]:
        """List the differences of (samples,) audio with these frames per token, one line each."""
        frames = int(durations.sum())
        lines = [] if frames == self.frames else [f"{frames} frames where {self.frames} are due"]
        result = compute_fingerprint(audio)
        if (off := result.level_distance_db(self.fingerprint)) > LEVEL_TOLERANCE_DB:
            lines.append(f"a band is {off:.1f} dB off, {LEVEL_TOLERANCE_DB:g} are allowed")
        if (late := abs(result.centroid_ms - self.fingerprint.centroid_ms)) > CENTROID_TOLERANCE_MS:
            lines.append(f"its energy lies {late:.1f} ms elsewhere, {CENTROID_TOLERANCE_MS:g} are allowed")
        return lines


def read_expectations() -> dict[str, Expectation]:
    """Read the expectations by name of utterance. Raises ValidationError if that fails."""
    try:
        data = json.loads(_FILE.read_text(encoding="utf-8"))
        if data["schema"] != _SCHEMA:
            raise ValueError(f"it has schema {data['schema']}, not {_SCHEMA}")
        return {
            name: Expectation(entry["digest"], int(entry["frames"]), Fingerprint.from_json(entry))
            for name, entry in data["utterances"].items()
        }
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ValidationError(
            f"{_FILE} cannot be read ({error}). Make it again: kokoro-tvm validate corpus --update"
        ) from error


def write_expectations(expectations: Mapping[str, Expectation]) -> Path:
    """Write the file atomically, one line per utterance; return its path."""
    lines = []
    for name, expected in expectations.items():
        entry = {"digest": expected.utterance, "frames": expected.frames} | expected.fingerprint.to_json()
        lines.append(f"  {json.dumps(name)}: {json.dumps(entry)}")
    text = f'{{\n "schema": {_SCHEMA},\n "utterances": {{\n' + ",\n".join(lines) + "\n }\n}\n"
    write_text(_FILE, text)
    return _FILE
