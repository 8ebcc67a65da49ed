"""Cues of a readable length from words: at most two lines of 42 characters, and 7 seconds.

Broadcasters and streaming services ask for these limits. A cue ends with a sentence if it can, else with a
clause, near the middle.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from kokoro_tvm.runtime.speech.words import TimedWord
from kokoro_tvm.runtime.text.abbreviations import find_abbreviation, is_sentence_start

MAX_CHARACTERS = 42  # of a line
MAX_LINES = 2
MAX_SECONDS = 7.0
_OPENING = "\"'“‘«¿¡([{—-*_#"
_MAX_GAP_S = 0.6  # a longer silence ends a cue
_ENDS = ".!?…。！？"
_CLAUSES = ",;:—、，；："
_CLOSING = "\"'”’»)]}*_"


@dataclass(frozen=True)
class CueWord:
    """A word with the marks that touch it.

    Attributes:
        text: what is shown.
        start: in seconds.
        end: in seconds.
        joined: whether no space is before it.
    """

    text: str
    start: float
    end: float
    joined: bool


@dataclass(frozen=True)
class Cue:
    """Lines that are shown together, from `start` to `end` in seconds."""

    start: float
    end: float
    lines: tuple[tuple[CueWord, ...], ...]

    @property
    def text(self) -> str:
        """The lines with line breaks between them."""
        return "\n".join(map(join_words, self.lines))


def split_into_cues(timeline: Sequence[TimedWord]) -> list[Cue]:
    """Divide words and marks into cues, in order; none is left out."""
    return [
        Cue(part[0].start, part[-1].end, _split_lines(part))
        for sentence in _split_at_ends_and_gaps(_attach_marks(timeline))
        for part in _halve(sentence)
    ]


def _attach_marks(timeline: Sequence[TimedWord]) -> list[CueWord]:
    """Join marks to the words that they touch; an opening mark goes to the next word."""
    words: list[CueWord] = []
    opening = ""  # marks in front of the next word
    touches_before = False  # whether they touch the word before them
    last_source = (-1, -1)
    for word in timeline:
        if word.source == last_source or not word.text.strip():
            continue  # the rest of a divided word, or symbols without text
        text = " ".join(word.text.split())
        glue = "" if word.joined else " "
        if word.spoken:
            joined = touches_before if opening else word.joined
            words.append(CueWord(opening + (glue if opening else "") + text, word.start, word.end, joined))
            opening = ""
        elif opening:
            opening += glue + text
        elif not words or (not word.joined and all(char in _OPENING for char in text)):
            opening, touches_before = text, word.joined
        else:
            words[-1] = replace(words[-1], text=words[-1].text + glue + text)
        last_source = word.source
    if opening and words:
        words[-1] = replace(words[-1], text=f"{words[-1].text} {opening}")
    return words


def join_words(words: Sequence[CueWord]) -> str:
    """Return the text of a line."""
    return "".join(("" if word.joined or not place else " ") + word.text for place, word in enumerate(words))


def _split_at_ends_and_gaps(words: Sequence[CueWord]) -> Iterator[list[CueWord]]:
    sentence: list[CueWord] = []
    for word in words:
        if sentence and (_ends_sentence(sentence[-1], word) or word.start - sentence[-1].end > _MAX_GAP_S):
            yield sentence
            sentence = []
        sentence.append(word)
    if sentence:
        yield sentence


def _halve(words: Sequence[CueWord]) -> Iterator[Sequence[CueWord]]:
    """Divide words until each part is a readable cue."""
    if len(words) == 1 or (_fits(words) and words[-1].end - words[0].start <= MAX_SECONDS):
        yield words
        return
    cut = _middle(words)
    yield from _halve(words[:cut])
    yield from _halve(words[cut:])


def _fits(words: Sequence[CueWord]) -> bool:
    return len(_split_lines(words)) <= MAX_LINES and all(
        len(join_words(line)) <= MAX_CHARACTERS or len(line) == 1 for line in _split_lines(words)
    )


def _split_lines(words: Sequence[CueWord]) -> tuple[tuple[CueWord, ...], ...]:
    """Divide words into one line, two of similar length, or as many as needed."""
    if len(join_words(words)) <= MAX_CHARACTERS or len(words) == 1:
        return (tuple(words),)
    cut = _middle(words)
    halves = tuple(words[:cut]), tuple(words[cut:])
    if all(len(join_words(half)) <= MAX_CHARACTERS or len(half) == 1 for half in halves):
        return halves
    return (*_split_lines(halves[0]), *_split_lines(halves[1]))


def _middle(words: Sequence[CueWord]) -> int:
    """Return the index to divide at: near the middle, preferably after a mark or at a silence."""
    whole = len(join_words(words))

    def cost(cut: int) -> float:
        word, following = words[cut - 1], words[cut]
        off = abs(2 * len(join_words(words[:cut])) - whole) / whole
        mark = 0.3 if word.text.rstrip(_CLOSING).endswith(tuple(_CLAUSES)) else 0.0
        return off - mark - min(0.2, following.start - word.end) + (2.0 if following.joined else 0.0)

    return min(range(1, len(words)), key=cost)


def _ends_sentence(word: CueWord, following: CueWord) -> bool:
    abbreviation = find_abbreviation(word.text[:-1]) if word.text.endswith(".") else None
    if abbreviation is None:
        return word.text.rstrip(_CLOSING).endswith(tuple(_ENDS))
    return is_sentence_start(following.text.lstrip(_OPENING), abbreviation)
