"""Times of words and phonemes, from the durations of a plan."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate, pairwise

from kokoro_tvm.runtime.speech.piece import Piece, Word
from kokoro_tvm.runtime.speech.plan import Plan

__all__ = ["EARLY_FRAMES", "TimedPhoneme", "TimedWord", "timeline", "words_of_piece"]

EARLY_FRAMES = 2
"""Frames by which a token is heard before its place in the durations: after a pause, the energy of a word
rises 30 to 65 ms earlier in all measured voices (docs/timing.py)."""


class _Timed:
    """A span of samples in the speech."""

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
class TimedPhoneme(_Timed):
    """A phoneme and its span of samples in the speech."""

    symbol: str
    start_sample: int
    end_sample: int
    sample_rate: int


@dataclass(frozen=True)
class TimedWord(_Timed):
    """A word or a mark and its span of samples in the speech, without the space after it.

    Attributes:
        text: in the source.
        source: its characters in the source, as a slice.
        start_sample: first sample.
        end_sample: after the last sample.
        sample_rate: in Hz.
        phonemes: with their times.
        spoken: whether it is a word, not a mark.
        piece: number of its piece.
        pause: samples of silence that the plan adds after it; 0 within a piece.
        joined: whether no space is between it and the word before, apart from markup.
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


def timeline(plan: Plan) -> tuple[TimedWord, ...]:
    """Return the words and marks of a plan in order; raises InputError if a duration is unknown."""
    words: list[TimedWord] = []
    start = 0
    for number, piece in enumerate(plan.pieces):
        words += words_of_piece(plan, piece, number, start)
        start += piece.samples(plan.samples_per_frame)
    return tuple(words)


def words_of_piece(plan: Plan, piece: Piece, number: int, start: int) -> Iterator[TimedWord]:
    """Yield the words and marks of a piece that begins at sample `start` of the speech."""
    before, after = piece.cut(plan.samples_per_frame)
    whole = piece.utterance
    last = start - before + whole.frames * plan.samples_per_frame - after
    rate = plan.sample_rate
    own = range(len(piece.before), len(piece.before) + len(piece.words))

    def sample(frame: int) -> int:
        """Return the sample at which a frame of the utterance is heard, within the piece."""
        return min(max(start - before + (frame - EARLY_FRAMES) * plan.samples_per_frame, start), last)

    frames = whole.lead
    paused = True  # before the current word
    for place, word in enumerate(whole.words):
        following = whole.words[place + 1 :]
        space = 0 if paused else whole.words[place - 1].space_frames
        paused = _pauses(plan, word, following)
        edges = list(accumulate(word.known_durations[: len(word.phonemes)], initial=frames))
        if paused and word.spoken:
            edges = [min(edge, frames + word.heard) for edge in edges]
        edges[0] -= space
        samples = [sample(edge) for edge in edges]
        phonemes = tuple(
            TimedPhoneme(symbol, first, end, rate)
            for symbol, (first, end) in zip(word.phonemes, pairwise(samples), strict=True)
        )
        source, pause = (word.start, word.end), piece.pause if place == own[-1] else 0
        ends = samples[0], samples[-1]
        if place in own:
            yield TimedWord(word.text, source, *ends, rate, phonemes, word.spoken, number, pause, word.joined)
        frames += word.frames


def _pauses(plan: Plan, word: Word, following: tuple[Word, ...]) -> bool:
    """Return whether silence follows a word: before a mark, at the end, and after a long last phoneme.

    Otherwise the space sounds like the beginning of the next word (docs/runtime.md).
    """
    after = next((other for other in following if other.phonemes), None)
    if not word.spoken or after is None or not after.spoken:
        return True
    return word.has_pausing_sound(plan.speed)
