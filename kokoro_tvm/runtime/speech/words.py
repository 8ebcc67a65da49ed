"""When each word and each phoneme is heard: by the place of the model's tokens in a plan."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate, pairwise

from kokoro_tvm.runtime.speech.piece import Piece, Word
from kokoro_tvm.runtime.speech.plan import Plan

__all__ = ["EARLY_FRAMES", "PAUSING_SOUND", "TimedPhoneme", "TimedWord", "timeline", "words_of_piece"]

EARLY_FRAMES = 2
"""Frames by which a token is heard before its place in the durations: after a pause, the energy of a word
rises 30 to 65 ms before it in all voices that were measured (docs/timing.py)."""

PAUSING_SOUND = 6
"""Frames at speed 1 that the last phoneme of a word lasts at least if a pause follows that no mark asks for:
of 74 words where it did, 69 had a silence of 80 ms or more after them, of 1,648 others 27 had one."""


class _Timed:
    """What has samples in the speech, as a slice."""

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
    """A symbol of the model's alphabet, and its samples in the speech as a slice."""

    symbol: str
    start_sample: int
    end_sample: int
    sample_rate: int


@dataclass(frozen=True)
class TimedWord(_Timed):
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
    last = start - before + piece.frames * plan.samples_per_frame - after
    rate = plan.sample_rate

    def sample(frame: int) -> int:
        """The sample at which a frame of the piece is heard, within those that the speech has of it."""
        return min(max(start - before + (frame - EARLY_FRAMES) * plan.samples_per_frame, start), last)

    frames = piece.lead
    paused = True  # between this word and the one before it
    for place, word in enumerate(piece.words):
        following = piece.words[place + 1 :]
        space = 0 if paused else piece.words[place - 1].space_frames
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
        source, pause = (word.start, word.end), 0 if following else piece.pause
        ends = samples[0], samples[-1]
        yield TimedWord(word.text, source, *ends, rate, phonemes, word.spoken, number, pause, word.joined)
        frames += word.frames


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
