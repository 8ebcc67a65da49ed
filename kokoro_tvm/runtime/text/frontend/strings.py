"""Strings of phonemes as tokens: those that are given, and those that were made of a text as a whole."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import replace
from difflib import SequenceMatcher

from kokoro_tvm.runtime.prosody import MARKS
from kokoro_tvm.runtime.text.frontend.tokens import Token, is_word_character

__all__ = ["align_words", "tokenize_phonemes"]

_WINDOW = 512
"""Symbols that are compared at once; most sentences have fewer."""

_PARTS = re.compile(
    rf"(?P<mark>[{re.escape(''.join(sorted(MARKS)))}]+)|(?P<word>[^\s{re.escape(''.join(sorted(MARKS)))}]+)"
)


def tokenize_phonemes(phonemes: str) -> tuple[Token, ...]:
    """A string of phonemes as tokens, words and marks apart; their text and spans are the string's own."""
    tokens = []
    leading = len(phonemes) - len(phonemes.lstrip())
    if leading:
        tokens.append(Token("", 0, 0, "", phonemes[:leading]))
    for start, end, space in _parts(phonemes):
        tokens.append(Token(phonemes[start:end], start, end, phonemes[start:end], space, origin="given"))
    return tuple(tokens)


def align_words(text: str, phonemes: str, alone: Callable[[list[str]], list[str]]) -> Iterator[Token]:
    """Tokens of a text's words and marks, from the string of phonemes that was made of the whole text.

    Where it has another number of words than the text (espeak-ng writes "of a" as one), it is cut by how the
    words sound one by one, which `alone` says of a list of them.
    """
    words = list(re.finditer(r"\S+", text))
    chunks = [found[0] for found in re.finditer(r"\S+\s*", phonemes)]
    if len(words) != len(chunks):
        chunks = _cut(phonemes, alone([word[0] for word in words])) if chunks else [""] * len(words)
    for word, chunk in zip(words, chunks, strict=True):
        sounds = chunk.rstrip()
        *parts, last = _pieces_of(sounds, word[0], word.start())
        yield from parts
        yield replace(last, space=chunk[len(sounds) :])


def _cut(phonemes: str, sounds: list[str]) -> list[str]:
    """The string in as many parts as there are sounds, where they fit best; spaces stay with the word before.

    Between stretches that are alike, places are found in proportion (difflib, Ratcliff and Obershelp 1988).
    """
    joined = "".join(sounds)
    known = {(0, 0), (len(joined), len(phonemes))}
    for a, b, length in _alike(joined, phonemes):
        known |= {(a, b), (a + length, b + length)}
    places = sorted(known)
    from_, to = [a for a, _ in places], [b for _, b in places]
    parts, done, end = [], 0, 0
    for sound in sounds[:-1]:
        end += len(sound)
        place = max(done + bool(sound), _between(end, from_, to))  # what has a sound has a part
        while place < len(phonemes) and phonemes[place].isspace():
            place += 1
        parts.append(phonemes[done:place])
        done = place
    return [*parts, phonemes[done:]]


def _alike(one: str, other: str) -> Iterator[tuple[int, int, int]]:
    """(place in `one`, place in `other`, length) of stretches that are alike, in order.

    They are looked for in one window after the other, because the time for a window grows with its square,
    and for one that repeats a symbol with its cube.
    """
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


def _between(place: int, from_: list[int], to: list[int]) -> int:
    right = bisect_left(from_, place)
    if right == len(from_):
        return to[-1]
    if from_[right] == place or right == 0:
        return to[right]
    share = (place - from_[right - 1]) / (from_[right] - from_[right - 1])
    return to[right - 1] + round(share * (to[right] - to[right - 1]))


def _pieces_of(phonemes: str, source: str, start: int) -> list[Token]:
    """The marks in front, the word, the marks after it; the marks have the source's characters around it."""
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
    """(start, end, space after it) of every word and run of marks."""
    found = list(_PARTS.finditer(phonemes))
    for place, part in enumerate(found):
        following = found[place + 1].start() if place + 1 < len(found) else len(phonemes)
        yield part.start(), part.end(), phonemes[part.end() : following]
