"""From words to cues of a readable length: at most two lines of 42 characters, and 7 seconds.

The limits are those that broadcasters and streaming services ask for. A cue ends with a sentence where it
can, else with a clause, near the middle.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from kokoro_tvm.runtime.speech.words import TimedWord
from kokoro_tvm.runtime.text.abbreviations import find_abbreviation, is_sentence_start

__all__ = ["Cue", "CueWord", "cues", "shown", "words_shown"]

MOST_CHARACTERS = 42  # of a line
MOST_LINES = 2
MOST_SECONDS = 7.0
_OPENING = "\"'“‘«¿¡([{—-*_#"
_LONGEST_GAP = 0.6  # seconds; a longer silence ends a cue
_ENDS = ".!?…。！？"
_CLAUSES = ",;:—、，；："
_CLOSING = "\"'”’»)]}*_"


@dataclass(frozen=True)
class CueWord:
    """A word as it is shown, with the marks at it; seconds; `joined`: without a space before it."""

    text: str
    start: float
    end: float
    joined: bool


@dataclass(frozen=True)
class Cue:
    """What is on screen together, from `start` to `end` in seconds, by lines."""

    start: float
    end: float
    lines: tuple[tuple[CueWord, ...], ...]

    @property
    def text(self) -> str:
        """The lines with line breaks between them."""
        return "\n".join(map(shown, self.lines))


def cues(timeline: Sequence[TimedWord]) -> list[Cue]:
    """The cues of words and marks; every word is in one of them, in order."""
    return [
        Cue(part[0].start, part[-1].end, _in_lines(part))
        for sentence in _sentences(words_shown(timeline))
        for part in _parts(sentence)
    ]


def words_shown(timeline: Sequence[TimedWord]) -> list[CueWord]:
    """Words with the marks that touch them; an opening mark goes with the word after it."""
    found: list[CueWord] = []
    opening = ""  # marks in front of the next word
    touches_before = False  # whether they touch the word before them
    last_source = (-1, -1)
    for word in timeline:
        if word.source == last_source or not word.text.strip():
            continue  # the rest of a word that was divided, or symbols that stand for nothing in the text
        text = " ".join(word.text.split())
        glue = "" if word.joined else " "
        if word.spoken:
            joined = touches_before if opening else word.joined
            found.append(CueWord(opening + (glue if opening else "") + text, word.start, word.end, joined))
            opening = ""
        elif opening:
            opening += glue + text
        elif not found or (not word.joined and all(char in _OPENING for char in text)):
            opening, touches_before = text, word.joined
        else:
            found[-1] = replace(found[-1], text=found[-1].text + glue + text)
        last_source = word.source
    if opening and found:
        found[-1] = replace(found[-1], text=f"{found[-1].text} {opening}")
    return found


def shown(words: Sequence[CueWord]) -> str:
    """Words as a line shows them."""
    return "".join(("" if word.joined or not place else " ") + word.text for place, word in enumerate(words))


def _sentences(words: Sequence[CueWord]) -> Iterator[list[CueWord]]:
    sentence: list[CueWord] = []
    for word in words:
        if sentence and (_ended(sentence[-1], word) or word.start - sentence[-1].end > _LONGEST_GAP):
            yield sentence
            sentence = []
        sentence.append(word)
    if sentence:
        yield sentence


def _parts(words: Sequence[CueWord]) -> Iterator[Sequence[CueWord]]:
    """Halves of halves until each can be read."""
    if len(words) == 1 or (_fits(words) and words[-1].end - words[0].start <= MOST_SECONDS):
        yield words
        return
    cut = _middle(words)
    yield from _parts(words[:cut])
    yield from _parts(words[cut:])


def _fits(words: Sequence[CueWord]) -> bool:
    return len(_in_lines(words)) <= MOST_LINES and all(
        len(shown(line)) <= MOST_CHARACTERS or len(line) == 1 for line in _in_lines(words)
    )


def _in_lines(words: Sequence[CueWord]) -> tuple[tuple[CueWord, ...], ...]:
    """One line where it fits, else two of like length, else as many as it takes."""
    if len(shown(words)) <= MOST_CHARACTERS or len(words) == 1:
        return (tuple(words),)
    cut = _middle(words)
    halves = tuple(words[:cut]), tuple(words[cut:])
    if all(len(shown(half)) <= MOST_CHARACTERS or len(half) == 1 for half in halves):
        return halves
    return (*_in_lines(halves[0]), *_in_lines(halves[1]))


def _middle(words: Sequence[CueWord]) -> int:
    """Where to divide: near the middle, sooner after a mark and where it is silent, never inside a word."""
    whole = len(shown(words))

    def cost(cut: int) -> float:
        word, following = words[cut - 1], words[cut]
        off = abs(2 * len(shown(words[:cut])) - whole) / whole
        mark = 0.3 if word.text.rstrip(_CLOSING).endswith(tuple(_CLAUSES)) else 0.0
        return off - mark - min(0.2, following.start - word.end) + (2.0 if following.joined else 0.0)

    return min(range(1, len(words)), key=cost)


def _ended(word: CueWord, following: CueWord) -> bool:
    abbreviation = find_abbreviation(word.text[:-1]) if word.text.endswith(".") else None
    if abbreviation is None:
        return word.text.rstrip(_CLOSING).endswith(tuple(_ENDS))
    return is_sentence_start(following.text.lstrip(_OPENING), abbreviation)
