"""Tokenizer: splits text into words and marks as spaCy's tokenizer does, by rules that are data.

spaCy's documentation ("How spaCy's tokenizer works") describes the algorithm: split at whitespace; split an
exception as its rule says, else strip prefixes and suffixes, one of each at a time; split the rest at
infixes. Afterwards, exceptions that were cut are restored.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise

LONGEST_PART = 256
"""Characters without a space that the rules see together: some of spaCy's take quadratic time."""

_PART = re.compile(rf"\s+|\S{{1,{LONGEST_PART}}}")
_CACHED_WORDS = 2048


@dataclass(frozen=True)
class RawToken:
    """Word or mark.

    Attributes:
        text: Its characters.
        start: Their place in the text.
        space: Whether one space follows.
        norm: What the tagger reads in its place; "" for its spelling.
    """

    text: str
    start: int
    space: bool = False
    norm: str = ""


@dataclass(frozen=True)
class TokenizerRules:
    """Rules of the tokenizer.

    Attributes:
        prefix, suffix, infix, url: Regular expressions.
        exceptions: Word to its tokens, each with its norm or "".
    """

    prefix: str
    suffix: str
    infix: str
    url: str
    exceptions: dict[str, tuple[tuple[str, str], ...]]


class Tokenizer:
    """Tokenizer. Thread-safe."""

    def __init__(self, rules: TokenizerRules) -> None:
        self._rules = rules
        self._prefix = re.compile(rules.prefix).search
        self._suffix = re.compile(rules.suffix).search
        self._exceptions = rules.exceptions
        self._longest = max(map(len, rules.exceptions), default=0)
        self._word = lru_cache(_CACHED_WORDS)(self._split_word)
        self._cut = lru_cache(_CACHED_WORDS)(self._cut_exception)

    # These two take 20 ms to compile, a tenth of the time until the first words, and few words need them.
    @cached_property
    def _infix(self) -> Callable[[str], Iterator[re.Match[str]]]:
        return re.compile(self._rules.infix).finditer

    @cached_property
    def _url(self) -> Callable[[str], re.Match[str] | None]:
        return re.compile(self._rules.url).match

    def __call__(self, text: str) -> list[RawToken]:
        """Return the tokens of a text: all characters but single spaces between words."""
        pieces: list[RawToken] = []
        for start, part, space in _parts(text):
            for piece, norm in ((part, ""),) if part.isspace() else self._word(part):
                pieces.append(RawToken(piece, start, False, norm))
                start += len(piece)
            if space:
                last = pieces[-1]
                pieces[-1] = RawToken(last.text, last.start, True, last.norm)
        return self._restore_exceptions(pieces)

    def _split_word(self, word: str) -> tuple[tuple[str, str], ...]:
        """Split a word without whitespace; return its tokens with norms."""
        if word in self._exceptions:
            return self._exceptions[word]
        before, middle, behind = self._strip(word, exceptions=True)
        inner: tuple[tuple[str, str], ...] = ()
        if middle in self._exceptions:
            inner = self._exceptions[middle]
        elif middle:
            inner = tuple((part, "") for part in self._split_inside(middle))
        return (*((mark, "") for mark in before), *inner, *((mark, "") for mark in behind))

    def _strip(self, word: str, exceptions: bool) -> tuple[list[str], str, list[str]]:
        """Return prefixes, the rest, and suffixes; with `exceptions`, stop at an exception."""
        before: list[str] = []
        behind: list[str] = []
        stops = self._exceptions if exceptions else {}
        while word and word not in stops:
            first = _length(self._prefix(word))
            if first and word[first:] in stops:
                return [*before, word[:first]], word[first:], behind[::-1]
            last = _length(self._suffix(word[first:]))
            if last and word[:-last] in stops:
                return before, word[:-last], [*behind, word[-last:]][::-1]
            if first:
                before.append(word[:first])
            if last and (not first or first + last <= len(word)):
                behind.append(word[-last:])
                word = word[:-last]
            if not first and not last:
                break
            word = word[first:]
        return before, word, behind[::-1]

    def _split_inside(self, word: str) -> Iterator[str]:
        # An infix is a mark or stands beside one, and an address has a full stop.
        if (word.isascii() and word.isalpha()) or self._url(word):
            yield word
            return
        start = 0
        for match in self._infix(word):
            if match.start() == 0:
                continue
            if match.start() != start:
                yield word[start : match.start()]
            if match.group():
                yield match.group()
            start = match.end()
        if start < len(word):
            yield word[start:]

    def _restore_exceptions(self, pieces: list[RawToken]) -> list[RawToken]:
        """Replace tokens that spell an exception with its own tokens; longer ones win."""
        spans = sorted(self._cut_exceptions(pieces), key=lambda span: (span[0] - span[1], span[0]))
        if not spans:
            return pieces
        covered: set[int] = set()
        chosen: dict[int, int] = {}
        for start, end in spans:
            if start not in covered and end - 1 not in covered:
                chosen[start] = end
            covered.update(range(start, end))
        restored: list[RawToken] = []
        place = 0
        while place < len(pieces):
            end = chosen.get(place, place + 1)
            old = pieces[place:end]
            together = all(left.start + len(left.text) == right.start for left, right in pairwise(old))
            rule = self._exceptions.get("".join(piece.text for piece in old)) if place in chosen else None
            if rule is None or not together:
                restored += old
            else:
                start = old[0].start
                for index, (text, norm) in enumerate(rule):
                    restored.append(RawToken(text, start, old[-1].space and index == len(rule) - 1, norm))
                    start += len(text)
            place = end
        return restored

    def _cut_exceptions(self, pieces: list[RawToken]) -> Iterator[tuple[int, int]]:
        for start, piece in enumerate(pieces):
            text = piece.text
            end = start + 1
            while len(text) <= self._longest:
                if text in self._exceptions:
                    cut = self._cut(text)
                    if cut == tuple(piece.text for piece in pieces[start:end]):
                        yield start, end
                if end == len(pieces):
                    break
                text += pieces[end].text
                end += 1

    def _cut_exception(self, word: str) -> tuple[str, ...]:
        """Return how an exception would be split if it were none, or () if it would not."""
        if not (self._prefix(word) or self._suffix(word) or any(self._infix(word))):
            return ()
        before, middle, behind = self._strip(word, exceptions=False)
        return (*before, *(self._split_inside(middle) if middle else ()), *behind)


def _length(match: re.Match[str] | None) -> int:
    return match.end() - match.start() if match else 0


def _parts(text: str) -> Iterator[tuple[int, str, bool]]:
    """Yield (start, characters, whether its space follows) of runs of whitespace and of other characters."""
    start = 0
    for match in _PART.finditer(text):
        part = match.group()
        if part.isspace():
            if start < match.end():
                yield start, text[start : match.end()], False
            start = match.end()
            continue
        space = text[match.end() : match.end() + 1] == " "
        yield match.start(), part, space
        start = match.end() + space
