"""What the corpus sounds like in the stock model, in float64: frames and fingerprints in `expectations.json`.

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

from kokoro_tvm.errors import ValidationError
from kokoro_tvm.measure.fingerprint import Fingerprint, fingerprint

__all__ = [
    "CENTROID_TOLERANCE_MS",
    "LEVEL_TOLERANCE_DB",
    "Expectation",
    "expectations",
    "write_expectations",
]

LEVEL_TOLERANCE_DB = 1.0
"""How far a fingerprint's level may be off: some times float32's dust, and 12 % of loudness."""

CENTROID_TOLERANCE_MS = 5.0
"""How far a fingerprint's centroid may be off: a fifth of a frame."""

_FILE = Path(__file__).with_name("expectations.json")
_SCHEMA = 1


@dataclass(frozen=True)
class Expectation:
    """Length and sound of one utterance of the corpus."""

    utterance: str
    """Its `truth.corpus.utterance_digest`."""
    frames: int
    fingerprint: Fingerprint

    def missed(self, durations: NDArray[np.int64], audio: ArrayLike) -> list[str]:
        """One line for each way in which audio (samples,) with these frames a token differs from it."""
        frames = int(durations.sum())
        lines = [] if frames == self.frames else [f"{frames} frames where {self.frames} are due"]
        found = fingerprint(audio)
        if (off := found.level_distance_db(self.fingerprint)) > LEVEL_TOLERANCE_DB:
            lines.append(f"a band is {off:.1f} dB off, {LEVEL_TOLERANCE_DB:g} are allowed")
        if (late := found.centroid_distance_ms(self.fingerprint)) > CENTROID_TOLERANCE_MS:
            lines.append(f"its energy lies {late:.1f} ms elsewhere, {CENTROID_TOLERANCE_MS:g} are allowed")
        return lines


def expectations() -> dict[str, Expectation]:
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
    partial = _FILE.with_name(f".{_FILE.name}.partial")
    partial.write_text(text, encoding="utf-8")
    return partial.replace(_FILE)
