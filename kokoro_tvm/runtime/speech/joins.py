"""Joins of pieces: pauses by punctuation, and fades between sound and silence."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from numbers import Real

import numpy as np
from numpy.typing import NDArray

from kokoro_tvm.common.errors import InputError
from kokoro_tvm.runtime.prosody import Boundary
from kokoro_tvm.runtime.speech.piece import Piece, Word

__all__ = [
    "ATTACK",
    "FADE",
    "PAUSES",
    "RELEASE",
    "Pauses",
    "fade_in",
    "fade_out",
    "mute",
    "muted_spans",
    "split_pause",
]


# A fricative is heard up to 90 ms before its token, and rises from silence before that. The last sound ends
# 20 ms before `Word.heard`, at -32 dB (docs/timing.py).
ATTACK = 0.150  # seconds kept before the first token with a sound
RELEASE = 0.050  # seconds kept after the last sound
FADE = 0.010  # seconds


@dataclass(frozen=True)
class Pauses:
    """Seconds from the last sound of a piece to the first of the next, at speed 1.

    Attributes:
        sentence: after . ! ? and at the end of a line of phonemes.
        ellipsis: after an ellipsis.
        semicolon: after ; and : and a dash.
        comma: after a comma.
        paragraph: after a blank line.
        none: within a piece that was divided at a space.

    Raises:
        InputError: a pause is not 0 to 60 seconds.
    """

    sentence: float = 0.4
    ellipsis: float = 0.6
    semicolon: float = 0.3
    comma: float = 0.2
    paragraph: float = 0.8
    none: float = 0.05

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            is_number = isinstance(value, Real) and not isinstance(value, bool)
            if not is_number or not 0 <= value <= 60:
                raise InputError(f"The pause '{field.name}' should be 0 to 60 seconds, but is {value!r}.")
            object.__setattr__(self, field.name, float(value))

    def after(self, words: Sequence[Word], boundary: Boundary) -> float:
        """Return the seconds of silence after words."""
        if boundary == "paragraph":
            return self.paragraph
        marks = ""
        for word in reversed(words):
            if word.spoken:
                break
            marks = word.phonemes + marks
        if "…" in marks or "..." in marks:
            return self.ellipsis
        for symbols, seconds in ((".!?", self.sentence), (";:—", self.semicolon), (",", self.comma)):
            if any(mark in symbols for mark in marks):
                return seconds
        return self.sentence if boundary == "sentence" else self.none


PAUSES = Pauses()
"""Pauses of a request that names none."""


def split_pause(seconds: float, sample_rate: int) -> tuple[int, int, int]:
    """Divide a pause: (samples kept after the last sound, silence, samples kept before the next sound)."""
    total = round(seconds * sample_rate)
    release, attack = round(RELEASE * sample_rate), round(ATTACK * sample_rate)
    if total >= release + attack:
        return release, total - release - attack, attack
    kept = math.floor(total * release / (release + attack))
    return kept, 0, total - kept


def fade_in(audio: NDArray[np.float32], sample_rate: int) -> None:
    """Fade in audio (samples,) in place, by a raised cosine of 10 ms."""
    count = min(round(FADE * sample_rate), audio.size)
    audio[:count] *= _rise(count)


def fade_out(audio: NDArray[np.float32], sample_rate: int) -> None:
    """Fade out audio (samples,) in place, by a raised cosine of 10 ms."""
    count = min(round(FADE * sample_rate), audio.size)
    audio[audio.size - count :] *= _rise(count)[::-1]


def muted_spans(piece: Piece, samples_per_frame: int, sample_rate: int) -> list[tuple[int, int]]:
    """Return the spans of samples of punctuation in the utterance of a piece.

    The sounds at both sides keep their attack and release; short punctuation is not muted.
    """
    release, attack = round(RELEASE * sample_rate), round(ATTACK * sample_rate)
    spans: list[tuple[int, int]] = []
    begin, sounding, marked = 0, False, True
    place = piece.lead
    for word in piece.utterance.words:
        durations = word.durations or ()
        if word.spoken:
            end = place * samples_per_frame - attack
            if marked and end > begin + 2 * round(FADE * sample_rate):
                spans.append((begin, end))
            begin = (place + word.heard) * samples_per_frame + release
            sounding, marked = True, False
        elif word.phonemes:
            marked = True
        place += sum(durations)
    total = (place + piece.tail) * samples_per_frame
    if sounding and total > begin + 2 * round(FADE * sample_rate):
        spans.append((begin, total))
    return spans if sounding else []


def mute(audio: NDArray[np.float32], spans: Sequence[tuple[int, int]], sample_rate: int) -> None:
    """Silence spans of audio (samples,) in place, with fades of 10 ms at sides with sound."""
    for first, last in spans:
        part = audio[first:last]
        gain = np.zeros(part.size, np.float32)
        count = min(round(FADE * sample_rate), part.size // 2)
        if first > 0:
            gain[:count] = _rise(count)[::-1]
        if last < audio.size:
            gain[part.size - count :] = _rise(count)
        part *= gain


def _rise(count: int) -> NDArray[np.float32]:
    return (0.5 - 0.5 * np.cos(np.pi * np.arange(count) / max(count, 1))).astype(np.float32)
