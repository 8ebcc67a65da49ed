"""The regression corpus: 60 utterances as phonemes, and what the stock model made of them once.

`corpus.yaml` is written by people, `corpus.json` by `kokoro-tvm validate corpus --update`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import Field
from yaml import safe_load

from kokoro_tvm.errors import InputError, ValidationError
from kokoro_tvm.recipe import Utterance
from kokoro_tvm.validate.fingerprint import Fingerprint, fingerprint

__all__ = [
    "CENTROID_TOLERANCE_MS",
    "LEVEL_TOLERANCE_DB",
    "MARGIN",
    "CorpusUtterance",
    "Expectation",
    "choose",
    "corpus",
    "expectations",
    "utterance_digest",
    "write_expectations",
]

LEVEL_TOLERANCE_DB = 1.0
"""How far a fingerprint's level may be off: some times float32's dust, and 12 % of loudness."""

CENTROID_TOLERANCE_MS = 5.0
"""How far a fingerprint's centroid may be off: a fifth of a frame."""

MARGIN = 0.002
"""Frames that every duration of the corpus keeps from a rounding boundary, at least: some hundred times what
float32 errs by."""

_FOLDER = Path(__file__).parent
_SCHEMA = 1


class CorpusUtterance(Utterance):
    """An utterance with the text it came from and what it is there for."""

    kind: Literal["sound", "word", "name", "number", "question", "sentence", "clause"] = Field(
        description="What it is an example of."
    )
    text: str = Field(min_length=1, description="The text its phonemes were made of.")

    def bare(self) -> Utterance:
        """What is said, without what is said about it."""
        return Utterance.model_validate(self.model_dump(exclude={"kind", "text"}))


@dataclass(frozen=True)
class Expectation:
    """What the stock model in float64 made of an utterance."""

    utterance: str
    """`utterance_digest` of what it was made of."""
    frames: int
    fingerprint: Fingerprint

    def missed(self, durations: NDArray[np.int64], audio: ArrayLike) -> list[str]:
        """How (samples,) audio of so many frames a token differs from it, a line each; or nothing."""
        frames = int(durations.sum())
        lines = [] if frames == self.frames else [f"{frames} frames where {self.frames} are due"]
        found = fingerprint(audio)
        if (off := found.level_distance_db(self.fingerprint)) > LEVEL_TOLERANCE_DB:
            lines.append(f"a band is {off:.1f} dB off, {LEVEL_TOLERANCE_DB:g} are allowed")
        if (late := found.centroid_distance_ms(self.fingerprint)) > CENTROID_TOLERANCE_MS:
            lines.append(f"its energy lies {late:.1f} ms elsewhere, {CENTROID_TOLERANCE_MS:g} are allowed")
        return lines


@cache
def corpus() -> tuple[CorpusUtterance, ...]:
    """The 60 utterances, in the order of the file."""
    data = safe_load((_FOLDER / "corpus.yaml").read_text(encoding="utf-8"))
    return tuple(CorpusUtterance.model_validate(entry, strict=False) for entry in data)


_U = TypeVar("_U", bound=Utterance)


def choose(names: Iterable[str], among: Sequence[_U]) -> list[_U]:
    """The utterances of these names, in their order. Raises InputError for a name there is not."""
    from kokoro_tvm.recipe._problems import hint

    known = {utterance.name: utterance for utterance in among}
    chosen = []
    for name in names:
        if name not in known:
            raise InputError(f"There is no utterance `{name}`{hint(name, list(known))}")
        chosen.append(known[name])
    return chosen


def utterance_digest(utterance: Utterance) -> str:
    """What an expectation is tied to: sha256 of phonemes, voice, speed and seed, its first 16 digits."""
    said = [utterance.phonemes, utterance.voice, utterance.speed, utterance.seed]
    return hashlib.sha256(json.dumps(said).encode()).hexdigest()[:16]


def expectations() -> dict[str, Expectation]:
    """What corpus.json holds, by utterance's name; raises ValidationError when it cannot be read."""
    path = _FOLDER / "corpus.json"
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        if data["schema"] != _SCHEMA:
            raise ValueError(f"it has schema {data['schema']}, not {_SCHEMA}")
        return {name: _expectation(entry) for name, entry in data["utterances"].items()}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ValidationError(
            f"{path} cannot be read ({error}). Make it again: kokoro-tvm validate corpus --update"
        ) from error


def _expectation(entry: Mapping[str, Any]) -> Expectation:
    return Expectation(entry["digest"], int(entry["frames"]), Fingerprint.from_json(entry))


def write_expectations(found: Mapping[str, Expectation]) -> Path:
    """Write corpus.json, a line an utterance, whole or not at all; returns its path."""
    lines = []
    for name, told in found.items():
        entry = {"digest": told.utterance, "frames": told.frames} | told.fingerprint.to_json()
        lines.append(f"  {json.dumps(name)}: {json.dumps(entry)}")
    text = f'{{\n "schema": {_SCHEMA},\n "utterances": {{\n' + ",\n".join(lines) + "\n }\n}\n"
    partial = _FOLDER / ".corpus.json.partial"
    partial.write_text(text, encoding="utf-8")
    return partial.replace(_FOLDER / "corpus.json")
