"""Letter-to-sound by rules: words of a language whose spelling says how they sound.

A word passes through the rules of its language one pass after the other, first alone, then in a line with
the words and marks around it (liaison, assimilation, stress at the end of a clause). The rules rewrite a
string in order, as phonologists write them: `focus -> replacement / left _ right`; everything a rule looks at
has a bound, so that time is linear in the length of the string. `kokoro_tvm/model/front_end/sounds/README.md`
says how they are written; the stage `front_end` compiles them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

from kokoro_tvm.runtime.prosody import MARKS
from kokoro_tvm.runtime.text.frontend.normalization.language import LETTER
from kokoro_tvm.runtime.text.frontend.tokens import LATIN, Token

__all__ = ["EDGE", "MAX_REPEATS", "RulePass", "SoundRules"]

EDGE = "#"
"""Stands at both ends of every word."""
MAX_REPEATS = 32
"""How often an item repeats at most."""
_LETTER = f"(?:{LETTER}|[\u200c\u200d])"  # with the joiners of Devanagari
_PART = re.compile(f"(?P<word>{_LETTER}(?:'?{_LETTER})*'?)|(?P<mark>[{re.escape(''.join(sorted(MARKS)))}।॥])")
_LATIN = re.compile(LATIN)
_SPOKEN_MARKS = str.maketrans("।॥«»", "..“”")

PatternItem: TypeAlias = "tuple[str, bool, int, int]"
"""Characters, whether it is those (or all others), and how often it stands there, at least and at most."""


@dataclass(frozen=True)
class _RewriteRule:
    """focus: items of one character each; left (from the focus outwards), right: what stands beside it;
    replacement: "&" in it is what was found."""

    focus: Sequence[PatternItem]
    replacement: str
    left: Sequence[PatternItem]
    right: Sequence[PatternItem]


@dataclass(frozen=True)
class RulePass:
    """One reading of a string from left to right. At each place the first rule that fits replaces its focus;
    what none fits stays.

    unless: the pass is left out where the string has one of these; feeding: what stands to the left is seen
    as it was rewritten, else as it was; what stands to the right always as it was.
    """

    rules: Sequence[_RewriteRule]
    unless: str = ""
    feeding: bool = False

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> RulePass:
        """The pass that the front end's file has."""
        return cls([_RewriteRule(*rule) for rule in data["rules"]], data["unless"], data["feeding"])

    @cached_property
    def _by_first(self) -> dict[str, list[_RewriteRule]]:
        found: dict[str, list[_RewriteRule]] = {}
        for rule in self.rules:
            for char in rule.focus[0][0]:
                found.setdefault(char, []).append(rule)
        return found

    def __call__(self, text: str) -> str:
        """The string, rewritten."""
        if any(char in text for char in self.unless):
            return text
        out: list[str] = []
        place = 0
        while place < len(text):
            for rule in self._by_first.get(text[place], ()):
                end = place + len(rule.focus)
                before: Sequence[str] = out if self.feeding else text
                left = len(out) if self.feeding else place
                if (
                    _fits(rule.focus, text, place, 1)
                    and _fits(rule.right, text, end, 1)
                    and _fits(rule.left, before, left - 1, -1)
                ):
                    out += rule.replacement.replace("&", text[place:end])
                    place = end
                    break
            else:
                out.append(text[place])
                place += 1
        return "".join(out)


def _fits(items: Sequence[PatternItem], text: Sequence[str], place: int, step: int) -> bool:
    """Whether the items stand there in the direction of step, each as often as it can."""
    for chars, among, least, most in items:
        found = 0
        while found < most and 0 <= place < len(text) and (text[place] in chars) is among:
            found += 1
            place += step
        if found < least:
            return False
    return True


class SoundRules:
    """The letter-to-sound rules of one language. Threads may share it."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        """data: what the front end's file has of the language."""
        self._letters = frozenset(data["letters"])
        self._replacements: Mapping[str, str] = data["replacements"]
        self._tags: Mapping[str, str] = data["tags"]
        self._words: Mapping[str, str] = data["words"]
        self._passes = [RulePass.of(each) for each in data["passes"]]
        self._clauses = [RulePass.of(each) for each in data["clauses"]]

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
