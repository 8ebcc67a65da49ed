"""When each word and each phoneme is heard: by the place of the model's tokens in a plan."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from kokoro_tvm.runtime.speech.piece import Piece, Word
from kokoro_tvm.runtime.speech.plan import Plan

__all__ = ["EARLY_FRAMES", "PAUSING_SOUND", "TimedPhoneme", "TimedWord", "timeline", "words_of_piece"]

EARLY_FRAMES = 2
"""Frames by which a token is heard before its place in the durations: after a pause, the energy of a word
rises 30 to 65 ms before it in all voices that were measured (docs/timing.py)."""

PAUSING_SOUND = 6
"""Frames at speed 1 that the last phoneme of a word lasts at least if a pause follows that no mark asks for:
of 74 words where it did, 69 had a silence of 80 ms or more after them, of 1,648 others 27 had one."""


@dataclass(frozen=True)
class TimedPhoneme:
    """A symbol of the model's alphabet, and its samples in the speech as a slice."""

    symbol: str
    start_sample: int
    end_sample: int
    sample_rate: int

    @property
    def start(self) -> float:
        """Seconds from the start of the speech."""
        return self.start_sample / self.sample_rate

    @property
    def end(self) -> float:
        """Seconds from the start of the speech."""
        return self.end_sample / self.sample_rate


@dataclass(frozen=True)
class TimedWord:
    """A word or a mark with its samples in the speech as a slice, without the space after it.

    text: as it stands in the source, where it is the characters of the slice `source`; spoken: whether it is
    a word; pause: samples of silence that the plan adds after it, 0 within a piece; piece: its number;
    joined: whether the text, without its markup, has no space between it and the word before.
    """

    text: str
    source: tuple[int, int]
    start_sample: int
    end_sample: int
    sample_rate: int
    phonemes: tuple[TimedPhoneme, ...]
    spoken: bool
    piece: int
    pause: int = 0
    joined: bool = False

    @property
    def start(self) -> float:
        """Seconds from the start of the speech."""
        return self.start_sample / self.sample_rate

    @property
    def end(self) -> float:
        """Seconds from the start of the speech."""
        return self.end_sample / self.sample_rate


def timeline(plan: Plan) -> tuple[TimedWord, ...]:
    """Words and marks of a plan in order; raises InputError while a duration is not known."""
    found: list[TimedWord] = []
    start = 0
    for number, piece in enumerate(plan.pieces):
        found += words_of_piece(plan, piece, number, start)
        start += piece.samples(plan.samples_per_frame)
    return tuple(found)


def words_of_piece(plan: Plan, piece: Piece, number: int, start: int) -> Iterator[TimedWord]:
    """Words and marks of a piece whose first sample is the `start`-th of the speech."""
    before, after = piece.cut(plan.samples_per_frame)
    bounds = start, start - before + piece.frames * plan.samples_per_frame - after
    first = start - before - EARLY_FRAMES * plan.samples_per_frame
    frames = piece.lead
    paused = True  # between this word and the one before it
    for place, word in enumerate(piece.words):
        following = piece.words[place + 1 :]
        space = 0 if paused else piece.words[place - 1].space_frames
        paused = _pauses(plan, word, following)
        span = _Span(frames - space, frames, frames + word.heard if paused and word.spoken else None)
        yield _timed(plan, word, number, first, span, bounds, 0 if following else piece.pause)
        frames += word.frames


@dataclass(frozen=True)
class _Span:
    """Frames at which a word begins, at which its first symbol ends the space before it, and at which its
    sound ends (None: with its last symbol)."""

    begin: int
    place: int
    end: int | None


def _pauses(plan: Plan, word: Word, following: tuple[Word, ...]) -> bool:
    """Whether nothing is heard between a word and the next: what the last phoneme lasts longer than it sounds
    is silence. Otherwise the space between them sounds like the beginning of the next (docs/runtime.md).

    Before a mark and at the end it is so; between words it is so where the last phoneme lasts long.
    """
    after = next((other for other in following if other.phonemes), None)
    if not word.spoken or after is None or not after.spoken:
        return True
    last = word.known_durations[len(word.phonemes) - 1]
    return last * min(1.0, plan.speed * word.rate) >= PAUSING_SOUND


def _timed(
    plan: Plan, word: Word, number: int, first: int, span: _Span, bounds: tuple[int, int], pause: int
) -> TimedWord:
    """first: the sample of frame 0; bounds: samples of the speech that the piece has."""

    def sample(frame: int) -> int:
        return min(max(first + frame * plan.samples_per_frame, bounds[0]), bounds[1])

    edges = [span.begin]
    place = span.place
    for duration in word.known_durations[: len(word.phonemes)]:
        place += duration
        edges.append(place if span.end is None else min(place, span.end))
    phonemes = tuple(
        TimedPhoneme(symbol, sample(a), sample(b), plan.sample_rate)
        for symbol, (a, b) in zip(word.phonemes, pairwise(edges), strict=True)
    )
    ends = sample(edges[0]), sample(edges[-1])
    source = word.start, word.end
    rate, spoken = plan.sample_rate, word.spoken
    return TimedWord(word.text, source, *ends, rate, phonemes, spoken, number, pause, word.joined)
