"""Split phoneme strings into tokens: those that a user gives, and those of a converter for a text."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import replace
from difflib import SequenceMatcher

from kokoro_tvm.runtime.prosody import MARKS
from kokoro_tvm.runtime.text.frontend.tokens import Token, is_word_character

_WINDOW = 512
"""Symbols that are compared at once. Most sentences have fewer."""

_PARTS = re.compile(
    rf"(?P<mark>[{re.escape(''.join(sorted(MARKS)))}]+)|(?P<word>[^\s{re.escape(''.join(sorted(MARKS)))}]+)"
)


def tokenize_phonemes(phonemes: str) -> tuple[Token, ...]:
    """Split a phoneme string into words and marks; their text and places are those of the string."""
    tokens = []
    leading = len(phonemes) - len(phonemes.lstrip())
    if leading:
        tokens.append(Token("", 0, 0, "", phonemes[:leading]))
    for start, end, space in _parts(phonemes):
        tokens.append(Token(phonemes[start:end], start, end, phonemes[start:end], space, origin="given"))
    return tuple(tokens)


def align_words(text: str, phonemes: str, alone: Callable[[list[str]], list[str]]) -> Iterator[Token]:
    """Split the phonemes of a whole text into tokens of its words and marks.

    A converter may join words (espeak-ng writes "of a" as one). If the numbers of words differ, the string is
    cut where it matches the phonemes of the single words best.

    Args:
        text: The text.
        phonemes: Phonemes of the whole text.
        alone: Returns the phonemes of each word of a list, read alone.
    """
    words = list(re.finditer(r"\S+", text))
    chunks = [match[0] for match in re.finditer(r"\S+\s*", phonemes)]
    if len(words) != len(chunks):
        chunks = (
            _cut_by_similarity(phonemes, alone([word[0] for word in words])) if chunks else [""] * len(words)
        )
    for word, chunk in zip(words, chunks, strict=True):
        sounds = chunk.rstrip()
        *parts, last = _split_marks(sounds, word[0], word.start())
        yield from parts
        yield replace(last, space=chunk[len(sounds) :])


def _cut_by_similarity(phonemes: str, sounds: list[str]) -> list[str]:
    """Cut the string into as many parts as there are words; spaces stay with the word before.

    Places between matching blocks are interpolated (difflib, Ratcliff and Obershelp 1988).
    """
    joined = "".join(sounds)
    anchors = {(0, 0), (len(joined), len(phonemes))}
    for a, b, length in _matching_blocks(joined, phonemes):
        anchors |= {(a, b), (a + length, b + length)}
    places = sorted(anchors)
    word_places, phoneme_places = [a for a, _ in places], [b for _, b in places]
    parts, start, end = [], 0, 0
    for sound in sounds[:-1]:
        end += len(sound)
        place = max(
            start + bool(sound), _interpolate(end, word_places, phoneme_places)
        )  # what has a sound has a part
        while place < len(phonemes) and phonemes[place].isspace():
            place += 1
        parts.append(phonemes[start:place])
        start = place
    return [*parts, phonemes[start:]]


def _matching_blocks(one: str, other: str) -> Iterator[tuple[int, int, int]]:
    """Yield matching blocks (place in `one`, place in `other`, length) in order."""
    # In windows, because the time grows with the square of the length, and with the cube of repetitions.
    a = b = 0
    while a < len(one) and b < len(other):
        last = a + _WINDOW >= len(one) and b + _WINDOW >= len(other)
        trusted = _WINDOW if last else _WINDOW * 3 // 4  # behind it, what follows the window may fit better
        matcher = SequenceMatcher(None, one[a : a + _WINDOW], other[b : b + _WINDOW], autojunk=False)
        ahead = (trusted // 2, trusted // 2)
        for block in matcher.get_matching_blocks():
            length = min(block.size, trusted - max(block.a, block.b))
            if length > 0:
                yield a + block.a, b + block.b, length
                ahead = block.a + length, block.b + length
        if last:
            return
        a, b = a + ahead[0], b + ahead[1]


def _interpolate(place: int, word_places: list[int], phoneme_places: list[int]) -> int:
    right = bisect_left(word_places, place)
    if right == len(word_places):
        return phoneme_places[-1]
    if word_places[right] == place or right == 0:
        return phoneme_places[right]
    share = (place - word_places[right - 1]) / (word_places[right] - word_places[right - 1])
    return phoneme_places[right - 1] + round(share * (phoneme_places[right] - phoneme_places[right - 1]))


def _split_marks(phonemes: str, source: str, start: int) -> list[Token]:
    """Return the marks before a word, the word and the marks after it, each with its source characters."""
    sounding = [(a, b) for a, b, _ in _parts(phonemes) if phonemes[a] not in MARKS]
    letters = [place for place, char in enumerate(source) if is_word_character(char)]
    if not sounding or not letters:
        return [Token(source, start, start + len(source), phonemes, "", origin="mark")]
    cuts = (sounding[0][0], sounding[-1][1]), (letters[0], letters[-1] + 1)
    tokens = []
    for (a, b), (c, d), origin in (
        ((0, cuts[0][0]), (0, cuts[1][0]), "mark"),
        (cuts[0], cuts[1], "word"),
        ((cuts[0][1], len(phonemes)), (cuts[1][1], len(source)), "mark"),
    ):
        if b > a or d > c:
            tokens.append(Token(source[c:d], start + c, start + d, phonemes[a:b], "", origin=origin))
    return tokens


def _parts(phonemes: str) -> Iterator[tuple[int, int, str]]:
    """Yield (start, end, space after it) of every word and run of marks."""
    matches = list(_PARTS.finditer(phonemes))
    for place, part in enumerate(matches):
        following = matches[place + 1].start() if place + 1 < len(matches) else len(phonemes)
        yield part.start(), part.end(), phonemes[part.end() : following]
