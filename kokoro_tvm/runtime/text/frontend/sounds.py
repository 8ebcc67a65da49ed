"""Letter-to-sound by rules: words of a language whose spelling says how they sound.

A word passes through the rules of its language one pass after the other, first alone, then in a line with the
words and marks around it (liaison, assimilation, stress at the end of a clause).
`kokoro_tvm/model/front_end/sounds/README.md` says how the rules are written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from kokoro_tvm.runtime.prosody import MARKS
from kokoro_tvm.runtime.text.frontend.normalization.language import LETTER
from kokoro_tvm.runtime.text.frontend.rewriting import EDGE, Pass
from kokoro_tvm.runtime.text.frontend.tokens import LATIN, Token

__all__ = ["Sounds"]

_LETTER = f"(?:{LETTER}|[\u200c\u200d])"  # with the joiners of Devanagari
_PART = re.compile(f"(?P<word>{_LETTER}(?:'?{_LETTER})*'?)|(?P<mark>[{re.escape(''.join(sorted(MARKS)))}।॥])")
_LATIN = re.compile(LATIN)
_SPOKEN_MARKS = str.maketrans("।॥«»", "..“”")


class Sounds:
    """The letter-to-sound rules of one language. Threads may share it."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        """data: what the front end's file has of the language."""
        self._letters = frozenset(data["letters"])
        self._replacements: Mapping[str, str] = data["replacements"]
        self._tags: Mapping[str, str] = data["tags"]
        self._words: Mapping[str, str] = data["words"]
        self._passes = [Pass.of(each) for each in data["passes"]]
        self._clauses = [Pass.of(each) for each in data["clauses"]]

    def __call__(self, text: str) -> list[Token]:
        """The words and marks of a text, with their places in it; a word in Latin letters of a language that
        has others stays as it is, of the origin "latin"."""
        parts = list(_PART.finditer(text))
        line = EDGE + "".join(EDGE + self._part(part) for part in parts) + EDGE + EDGE
        for each in self._clauses:
            line = each(line)
        spoken = line[2:-2].split(EDGE) if parts else []
        ends = [part.start() for part in parts[1:]] + [len(text)]
        return [
            self._token(part, phonemes, " " if part.end() < end else "")
            for part, phonemes, end in zip(parts, spoken, ends if parts else [], strict=True)
        ]

    def _token(self, part: re.Match[str], phonemes: str, space: str) -> Token:
        if part["mark"]:
            return Token(part[0], *part.span(), phonemes, space, origin="mark")
        if _LATIN.match(part[0]) and not "".join(self._spelled(part[0])).strip("'"):
            return Token(part[0], *part.span(), part[0], space, origin="latin")
        return Token(part[0], *part.span(), phonemes, space, origin="rules")

    def _part(self, part: re.Match[str]) -> str:
        if part["mark"]:
            return part[0].translate(_SPOKEN_MARKS)
        clitic, apostrophe, word = "".join(self._spelled(part[0])).rpartition("'")
        if not clitic + word:
            return ""
        text = EDGE + self._tags.get(word, "") + clitic + apostrophe + self._words.get(word, word) + EDGE
        for each in self._passes:
            text = each(text)
        return text.strip(EDGE).replace("'", "")

    def _spelled(self, word: str) -> Iterator[str]:
        """The small letters of a word that the language has; others by those they are replaced with."""
        for char in word.lower():
            if char in self._letters:
                yield char
            else:
                yield self._replacements.get(char, "")
