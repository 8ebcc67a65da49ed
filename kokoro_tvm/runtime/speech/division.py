"""Which words the model speaks as one utterance.

A short first piece is heard soon; very short ones sound flat, so they are joined with what follows; long ones
are hurried, so they are divided at clauses.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from numbers import Integral

from kokoro_tvm.common.errors import InputError
from kokoro_tvm.runtime.prosody import Boundary
from kokoro_tvm.runtime.speech.piece import Word
from kokoro_tvm.runtime.text.phonemes import find_middle_cut

__all__ = ["Breath", "Division", "breaths", "halves", "symbols_of"]


@dataclass(frozen=True)
class Breath:
    """Words to be spoken as one utterance, durations unknown, and what comes after them.

    pause: seconds that the text requests, None where the marks decide; voice: None for that of the request.
    """

    words: tuple[Word, ...]
    boundary: Boundary
    pause: float | None = None
    voice: str | None = None


@dataclass(frozen=True)
class Division:
    """Lengths of pieces in symbols of phonemes.

    first: a first piece that is longer ends at the first clause; least: what is shorter is joined with the
    next sentence of the paragraph; most: what is longer is divided, best at a mark.
    """

    first: int = 60
    least: int = 20
    most: int = 300

    def __post_init__(self) -> None:
        for name in ("first", "least", "most"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, Integral) or value < 0:
                raise InputError(f"'{name}' of a division should be a number of symbols, but is {value!r}.")
            object.__setattr__(self, name, int(value))
        if self.most < max(1, self.least):
            raise InputError("A division cannot ask for pieces with at least more symbols than at most.")


def breaths(sentences: Iterable[Breath], division: Division) -> Iterator[Breath]:
    """Sentences as they come, joined and divided by length."""
    held: Breath | None = None
    first = True
    for sentence in sentences:
        if held is not None and sentence.words and held.voice != sentence.voice:
            yield from divided(held, division.most)
            first, held = False, None
        if held is not None:
            before = _spaced(held.words) if sentence.words else held.words
            sentence = replace(sentence, words=before + sentence.words, voice=held.voice)
            held = None
        length = len(symbols_of(sentence.words))
        if length < division.least and sentence.boundary in {"sentence", "clause"} and sentence.pause is None:
            held = sentence
            continue
        if first and length > division.first:
            place = _first_clause(sentence.words, division.least)
            if place is not None:
                yield _before(sentence, sentence.words[:place])
                sentence = replace(sentence, words=sentence.words[place:])
        first = first and not sentence.words
        yield from divided(sentence, division.most)
    if held is not None:
        yield held


def divided(breath: Breath, most: int) -> Iterator[Breath]:
    """Parts of at most `most` symbols, as far as there are places to divide at."""
    parts = halves(breath) if len(symbols_of(breath.words)) > most else None
    if parts is None:
        yield breath
    else:
        for part in parts:
            yield from divided(part, most)


def halves(breath: Breath) -> tuple[Breath, Breath] | None:
    """Both sides of the best place to divide at, near the middle; None where there is no place."""
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
        else:  # a word of several, such as a number
            left, right = word.phonemes[: cut - place], word.phonemes[cut - place :]
            before.append(replace(word, phonemes=left.rstrip(), space=left[len(left.rstrip()) :]))
            after.append(replace(word, phonemes=right))
        place = end
    return _before(breath, before), replace(breath, words=tuple(after))


def symbols_of(words: Iterable[Word]) -> str:
    """The string of phonemes that words write."""
    return "".join(word.symbols for word in words)


def _first_clause(words: tuple[Word, ...], least: int) -> int | None:
    """Number of words up to the end of the first clause, where both sides are long enough."""
    length, total = 0, len(symbols_of(words))
    for place, word in enumerate(words):
        length += len(word.symbols)
        ends = not word.spoken and word.space and any(mark in ",;:—.!?…" for mark in word.phonemes)
        if ends and length >= least and total - length >= least:
            return place + 1
    return None


def _spaced(words: tuple[Word, ...]) -> tuple[Word, ...]:
    *others, last = words
    return (*others, last if last.space else replace(last, space=" "))


def _before(breath: Breath, words: Sequence[Word]) -> Breath:
    """The first words of a breath as one of its own."""
    ended = (*words[:-1], replace(words[-1], space=""))
    return replace(breath, words=ended, boundary="clause", pause=None)
