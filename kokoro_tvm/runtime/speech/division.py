"""Division of sentences into utterances of the model.

A short first piece is heard soon. Very short pieces sound flat, so they are joined with the next one. Long
pieces are hurried, so they are divided at clauses.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from numbers import Integral, Real

from kokoro_tvm.common.errors import InputError
from kokoro_tvm.runtime.prosody import Boundary
from kokoro_tvm.runtime.speech.piece import CUT_FRAMES, Piece, Word
from kokoro_tvm.runtime.text.phonemes import find_middle_cut

__all__ = ["DIVISION", "Breath", "Division", "cut_piece", "divide_sentences", "halves", "symbols_of"]


@dataclass(frozen=True)
class Breath:
    """Words of one utterance, without durations.

    Attributes:
        words: in order; none for a pause alone.
        boundary: what ends after them.
        pause: seconds that the text requests; None: punctuation decides.
        voice: None: that of the request.
    """

    words: tuple[Word, ...]
    boundary: Boundary
    pause: float | None = None
    voice: str | None = None


@dataclass(frozen=True)
class Division:
    """Lengths of pieces, in symbols of phonemes.

    Attributes:
        first: a longer first piece ends at its first clause.
        least: a shorter piece is joined with the next sentence of the paragraph.
        most: a longer piece is divided, preferably at punctuation.
        first_s: seconds. If the first piece lasts longer, its utterance is decoded in two pieces: the first
            ends between two words within this time, without a pause. Infinity: never.

    Raises:
        InputError: a length is no number of symbols or seconds, or `least` exceeds `most`.
    """

    first: int = 60
    least: int = 20
    most: int = 300
    first_s: float = 2.5

    def __post_init__(self) -> None:
        for name in ("first", "least", "most"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, Integral) or value < 0:
                raise InputError(f"'{name}' of a division should be a number of symbols, but is {value!r}.")
            object.__setattr__(self, name, int(value))
        if isinstance(self.first_s, bool) or not isinstance(self.first_s, Real) or not self.first_s > 0:
            raise InputError(
                f"'first_s' of a division should be a number of seconds above 0, but is {self.first_s!r}."
            )
        object.__setattr__(self, "first_s", float(self.first_s))
        if self.most < max(1, self.least):
            raise InputError("'least' of a division should not exceed 'most'.")


DIVISION = Division()
"""Division of a request that names none."""

MIN_PART = 40
"""Minimum number of frames of both parts of a first utterance."""

STOPS = "pbtdkɡʧʤ"
"""Consonants that begin with silence, in which a cut is not heard."""


def divide_sentences(sentences: Iterable[Breath], division: Division) -> Iterator[Breath]:
    """Join and divide sentences by length, as they come."""
    pending: Breath | None = None
    first = True
    for sentence in sentences:
        if pending is not None and sentence.words and pending.voice != sentence.voice:
            yield from divided(pending, division.most)
            first, pending = False, None
        if pending is not None:
            before = _spaced(pending.words) if sentence.words else pending.words
            sentence = replace(sentence, words=before + sentence.words, voice=pending.voice)
            pending = None
        length = len(symbols_of(sentence.words))
        if length < division.least and sentence.boundary in {"sentence", "clause"} and sentence.pause is None:
            pending = sentence
            continue
        if first and length > division.first:
            place = _first_clause(sentence.words, division.least)
            if place is not None:
                yield _before(sentence, sentence.words[:place])
                sentence = replace(sentence, words=sentence.words[place:])
        first = first and not sentence.words
        yield from divided(sentence, division.most)
    if pending is not None:
        yield pending


def divided(breath: Breath, most: int) -> Iterator[Breath]:
    """Yield parts of at most `most` symbols, if there are places to divide at."""
    parts = halves(breath) if len(symbols_of(breath.words)) > most else None
    if parts is None:
        yield breath
    else:
        for part in parts:
            yield from divided(part, most)


def halves(breath: Breath) -> tuple[Breath, Breath] | None:
    """Divide at the best place near the middle; None if there is no place."""
    cut = find_middle_cut(symbols_of(breath.words))
    if cut is None:
        return None
    before: list[Word] = []
    after: list[Word] = []
    place = 0
    for word in breath.words:
        end = place + len(word.symbols)
        if end <= cut:
            before.append(word)
        elif place >= cut:
            after.append(word)
        else:  # a word with spaces, such as a number
            left, right = word.phonemes[: cut - place], word.phonemes[cut - place :]
            before.append(replace(word, phonemes=left.rstrip(), space=left[len(left.rstrip()) :]))
            after.append(replace(word, phonemes=right))
        place = end
    return _before(breath, before), replace(breath, words=tuple(after))


def cut_piece(piece: Piece, frames: float, speed: float) -> tuple[Piece, ...]:
    """Cut a piece with durations that exceeds `frames` into two of one utterance, if it has a place for it.

    Durations, pitch and energy remain those of the whole utterance.

    Args:
        piece: a whole utterance.
        frames: maximum of the first part.
        speed: of the plan.
    """
    place = _cut_place(piece, frames, speed) if piece.frames > frames else None
    if place is None:
        return (piece,)
    before, after = piece.words[:place], piece.words[place:]
    first = replace(piece, words=before, after=after, keep=(piece.keep[0], None), pause=0)
    return first, replace(piece, words=after, before=before, keep=(None, piece.keep[1]))


def symbols_of(words: Iterable[Word]) -> str:
    """Return the phonemes of words as one string."""
    return "".join(word.symbols for word in words)


def _first_clause(words: tuple[Word, ...], least: int) -> int | None:
    """Return the number of words of the first clause, or None if a side is shorter than `least`."""
    length, total = 0, len(symbols_of(words))
    for place, word in enumerate(words):
        length += len(word.symbols)
        ends = not word.spoken and word.space and any(mark in ",;:—.!?…" for mark in word.phonemes)
        if ends and length >= least and total - length >= least:
            return place + 1
    return None


def _cut_place(piece: Piece, frames: float, speed: float) -> int | None:
    """Return the number of words before the last of the quietest places between two words."""
    most = min(frames, piece.frames - MIN_PART)
    best, best_quiet = None, 0
    end = piece.lead
    for place, (word, following) in enumerate(pairwise(piece.words), 1):
        end += word.frames
        cut = end - word.space_frames - CUT_FRAMES
        if not (word.spoken and following.spoken and word.space and MIN_PART <= cut <= most):
            continue
        # 49 dB below the speech in a pause, 14 to 27 dB before a stop, 4 dB elsewhere (median).
        stop = following.phonemes.lstrip("ˈˌ")[:1] in STOPS
        quiet = 2 if word.has_pausing_sound(speed) else 1 if stop else 0
        if quiet >= best_quiet:
            best, best_quiet = place, quiet
    return best


def _spaced(words: tuple[Word, ...]) -> tuple[Word, ...]:
    *others, last = words
    return (*others, last if last.space else replace(last, space=" "))


def _before(breath: Breath, words: Sequence[Word]) -> Breath:
    """Return the first words of a breath as a clause."""
    ended = (*words[:-1], replace(words[-1], space=""))
    return replace(breath, words=ended, boundary="clause", pause=None)
