"""When each word and each phoneme is heard: by the place of the model's tokens in a plan."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kokoro_tvm.runtime.plan import LAST_SOUND, Piece, Plan, Word

__all__ = ["EARLY_FRAMES", "TimedPhoneme", "TimedWord", "timeline", "words_of_piece"]

EARLY_FRAMES = 2
"""Frames by which a token is heard before its place in the durations: after a pause, the energy of a word
rises 30 to 65 ms before it in all voices that were measured (docs/timing.py)."""


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
    a word; pause: samples of silence that the plan adds after it, 0 within a piece; piece: its number.
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
    for place, word in enumerate(piece.words):
        following = piece.words[place + 1 :]
        pause = 0 if following else piece.pause
        # Before a mark and at the end, what the last phoneme lasts longer than it is heard is silence.
        heard = not following or (not following[0].spoken and bool(following[0].phonemes))
        yield _timed(plan, word, number, (first, frames), bounds, pause, heard)
        frames += word.frames


def _timed(
    plan: Plan,
    word: Word,
    number: int,
    origin: tuple[int, int],
    bounds: tuple[int, int],
    pause: int,
    heard: bool,
) -> TimedWord:
    first, frames = origin
    phonemes = []
    durations = list(word.known_durations[: len(word.phonemes)])
    if heard and word.spoken:
        durations[-1] = min(durations[-1], LAST_SOUND)
    for symbol, duration in zip(word.phonemes, durations, strict=True):
        ends = (first + frame * plan.samples_per_frame for frame in (frames, frames + duration))
        low, high = (min(max(end, bounds[0]), bounds[1]) for end in ends)
        phonemes.append(TimedPhoneme(symbol, low, high, plan.sample_rate))
        frames += duration
    at = min(max(first + origin[1] * plan.samples_per_frame, bounds[0]), bounds[1])
    start, end = (phonemes[0].start_sample, phonemes[-1].end_sample) if phonemes else (at, at)
    return TimedWord(
        word.text,
        (word.start, word.end),
        start,
        end,
        plan.sample_rate,
        tuple(phonemes),
        word.spoken,
        number,
        pause,
    )
