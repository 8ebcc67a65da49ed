"""The regression corpus: 60 utterances as phonemes, read from the hand-written `corpus.yaml`."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Literal, TypeVar

from pydantic import Field
from yaml import safe_load

from kokoro_tvm.common.errors import InputError
from kokoro_tvm.recipe import UtteranceSpec

MARGIN = 0.002
"""Smallest distance in frames of any duration of the corpus from a rounding boundary:
about a hundred times the error of float32."""

_FOLDER = Path(__file__).parent


class CorpusUtterance(UtteranceSpec):
    """Utterance with its source text and the kind of speech that it covers."""

    kind: Literal["sound", "word", "name", "number", "question", "sentence", "clause"] = Field(
        description="What it is an example of."
    )
    text: str = Field(min_length=1, description="The text its phonemes were made of.")

    def bare(self) -> UtteranceSpec:
        """Return the utterance without text and kind, as a recipe has it."""
        return UtteranceSpec.model_validate(self.model_dump(exclude={"kind", "text"}))


@cache
def corpus() -> tuple[CorpusUtterance, ...]:
    """Read the 60 utterances, in the order of the file."""
    data = safe_load((_FOLDER / "corpus.yaml").read_text(encoding="utf-8"))
    return tuple(CorpusUtterance.model_validate(entry, strict=False) for entry in data)


_U = TypeVar("_U", bound=UtteranceSpec)


def choose(names: Iterable[str], among: Sequence[_U]) -> list[_U]:
    """Select utterances by name, in the order of the names. Raises InputError for an unknown name."""
    from kokoro_tvm.common.words import hint

    by_name = {utterance.name: utterance for utterance in among}
    chosen = []
    for name in names:
        if name not in by_name:
            raise InputError(f"There is no utterance `{name}`{hint(name, list(by_name))}")
        chosen.append(by_name[name])
    return chosen


def utterance_digest(utterance: UtteranceSpec) -> str:
    """Hash what the audio depends on (phonemes, voice, speed, seed): 16 hex digits of a SHA-256."""
    content = [utterance.phonemes, utterance.voice, utterance.speed, utterance.seed]
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:16]
