"""What every markup is parsed into: stretches of text, each with its style, and the breaks between them."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import TypeAlias

from kokoro_tvm.runtime.prosody import Boundary
from kokoro_tvm.runtime.text.frontend.source import SourceText

__all__ = ["Break", "MarkupItem", "MarkupVocabulary", "SpeakingStyle", "TextRun"]


@dataclass(frozen=True)
class SpeakingStyle:
    """How a stretch is spoken: in which voice (None: the one of the request), how much faster than the
    request, at which factor of the predicted pitch."""

    voice: str | None = None
    rate: float = 1.0
    pitch: float = 1.0


@dataclass(frozen=True)
class TextRun:
    """Text without markup, with its places in what was parsed, and with its links, each within a line."""

    source: SourceText
    style: SpeakingStyle


@dataclass(frozen=True)
class Break:
    """An end of what is spoken as one: a sentence or paragraph, a pause in seconds, another voice.

    boundary: what a pause follows from where none is requested; "clause" leaves it to the marks.
    """

    boundary: Boundary = "clause"
    pause: float | None = None


MarkupItem: TypeAlias = TextRun | Break


@dataclass(frozen=True)
class MarkupVocabulary:
    """What markup may name: symbols of phonemes, and voices.

    language: a voice's language as a letter, of None that of the request; raises InputError for no voice.
    """

    symbols: Collection[str]
    language: Callable[[str | None], str]
