"""The regression corpus: 60 utterances as phonemes, from `corpus.yaml`, which people write."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Literal, TypeVar

from pydantic import Field
from yaml import safe_load

from kokoro_tvm.errors import InputError
from kokoro_tvm.recipe import Utterance

__all__ = [
    "MARGIN",
    "CorpusUtterance",
    "choose",
    "corpus",
    "utterance_digest",
]

MARGIN = 0.002
"""Frames that every duration of the corpus keeps from a rounding boundary, at least: some hundred times what
float32 errs by."""

_FOLDER = Path(__file__).parent


class CorpusUtterance(Utterance):
    """An utterance with the text it came from and what it is there for."""

    kind: Literal["sound", "word", "name", "number", "question", "sentence", "clause"] = Field(
        description="What it is an example of."
    )
    text: str = Field(min_length=1, description="The text its phonemes were made of.")

    def bare(self) -> Utterance:
        """The utterance without text and kind, as a recipe has it."""
        return Utterance.model_validate(self.model_dump(exclude={"kind", "text"}))


@cache
def corpus() -> tuple[CorpusUtterance, ...]:
    """The 60 utterances, in the order of the file."""
    data = safe_load((_FOLDER / "corpus.yaml").read_text(encoding="utf-8"))
    return tuple(CorpusUtterance.model_validate(entry, strict=False) for entry in data)


_U = TypeVar("_U", bound=Utterance)


def choose(names: Iterable[str], among: Sequence[_U]) -> list[_U]:
    """The utterances of these names, in their order. Raises InputError for a name there is not."""
    from kokoro_tvm.words import hint

    known = {utterance.name: utterance for utterance in among}
    chosen = []
    for name in names:
        if name not in known:
            raise InputError(f"There is no utterance `{name}`{hint(name, list(known))}")
        chosen.append(known[name])
    return chosen


def utterance_digest(utterance: Utterance) -> str:
    """First 16 hex digits of the SHA-256 of phonemes, voice, speed and seed: what its audio depends on."""
    content = [utterance.phonemes, utterance.voice, utterance.speed, utterance.seed]
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:16]
