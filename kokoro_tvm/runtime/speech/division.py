"""Division of sentences into utterances of the model.

A short first piece is heard soon. Very short pieces sound flat, so they are joined with the next one. Long
pieces are hurried, so they are divided at clauses.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from numbers import Integral

from kokoro_tvm.common.errors import InputError
from kokoro_tvm.runtime.prosody import Boundary
from kokoro_tvm.runtime.speech.piece import Word
from kokoro_tvm.runtime.text.phonemes import find_middle_cut

__all__ = ["DIVISION", "Breath", "Division", "divide_sentences", "halves", "symbols_of"]


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

    Raises:
        InputError: a length is no number of symbols, or `least` exceeds `most`.
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
            raise InputError("'least' of a division should not exceed 'most'.")


DIVISION = Division()
"""Division of a request that names none."""


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


def _spaced(words: tuple[Word, ...]) -> tuple[Word, ...]:
    *others, last = words
    return (*others, last if last.space else replace(last, space=" "))


def _before(breath: Breath, words: Sequence[Word]) -> Breath:
    """Return the first words of a breath as a clause."""
    ended = (*words[:-1], replace(words[-1], space=""))
    return replace(breath, words=ended, boundary="clause", pause=None)
