"""Output of the markup parsers: runs of text with a speaking style, and breaks between them."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import TypeAlias

from kokoro_tvm.runtime.prosody import Boundary
from kokoro_tvm.runtime.text.frontend.source import SourceText


@dataclass(frozen=True)
class SpeakingStyle:
    """How text is spoken.

    Attributes:
        voice: None for the voice of the request.
        rate: Factor on the speed of the request.
        pitch: Factor on the predicted pitch.
    """

    voice: str | None = None
    rate: float = 1.0
    pitch: float = 1.0


@dataclass(frozen=True)
class TextRun:
    """Text of one style, without markup, with its places in the parsed text; each link is within a line."""

    source: SourceText
    style: SpeakingStyle


@dataclass(frozen=True)
class Break:
    """End of a sentence or paragraph, a pause, or a change of voice.

    Attributes:
        boundary: What determines the pause if none is requested; "clause" leaves it to the marks.
        pause: Seconds.
    """

    boundary: Boundary = "clause"
    pause: float | None = None


MarkupItem: TypeAlias = TextRun | Break


@dataclass(frozen=True)
class MarkupVocabulary:
    """Phoneme symbols and voices that markup may name.

    Attributes:
        symbols: Of the model.
        language: Returns the language letter of a voice, or of the request for None; raises InputError for an
            unknown voice.
    """

    symbols: Collection[str]
    language: Callable[[str | None], str]
