"""Letter-to-sound by rules, for languages whose spelling says how they sound.

A word passes through the passes of its language, then the line of words and marks through the clause passes
(liaison, assimilation, stress at the end of a clause). Rules rewrite a string in order, in the notation of
phonology: `focus -> replacement / left _ right`. All contexts are bounded, so the time is linear.
`kokoro_tvm/model/front_end/sounds/README.md` describes the files; the stage `front_end` compiles them.
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

EDGE = "#"
"""Stands at both ends of every word."""
MAX_REPEATS = 32
"""Most repetitions of a pattern item."""
_LETTER = f"(?:{LETTER}|[\u200c\u200d])"  # or a joiner of Devanagari
_PART = re.compile(f"(?P<word>{_LETTER}(?:'?{_LETTER})*'?)|(?P<mark>[{re.escape(''.join(sorted(MARKS)))}।॥])")
_LATIN = re.compile(LATIN)
_SPOKEN_MARKS = str.maketrans("।॥«»", "..“”")

PatternItem: TypeAlias = "tuple[str, bool, int, int]"
"""(characters, whether they or all others match, fewest and most repetitions)."""


@dataclass(frozen=True)
class _RewriteRule:
    """Rewrite rule.

    Attributes:
        focus: Items of one character each.
        replacement: "&" in it stands for the focus.
        left: Context, from the focus outwards.
        right: Context.
    """

    focus: Sequence[PatternItem]
    replacement: str
    left: Sequence[PatternItem]
    right: Sequence[PatternItem]


@dataclass(frozen=True)
class RulePass:
    """One pass over a string from left to right.

    At each place, the first rule that matches replaces its focus. Other characters stay.

    Attributes:
        rules: In order.
        unless: The pass is skipped if the string has one of these characters.
        feeding: Whether rules see the rewritten left context instead of the original one.
    """

    rules: Sequence[_RewriteRule]
    unless: str = ""
    feeding: bool = False

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> RulePass:
        """Create a pass from the front end's file."""
        return cls([_RewriteRule(*rule) for rule in data["rules"]], data["unless"], data["feeding"])

    @cached_property
    def _by_first(self) -> dict[str, list[_RewriteRule]]:
        rules: dict[str, list[_RewriteRule]] = {}
        for rule in self.rules:
            for char in rule.focus[0][0]:
                rules.setdefault(char, []).append(rule)
        return rules

    def __call__(self, text: str) -> str:
        """Return the rewritten string."""
        if any(char in text for char in self.unless):
            return text
        output: list[str] = []
        place = 0
        while place < len(text):
            for rule in self._by_first.get(text[place], ()):
                end = place + len(rule.focus)
                before: Sequence[str] = output if self.feeding else text
                left = len(output) if self.feeding else place
                if (
                    _matches(rule.focus, text, place, 1)
                    and _matches(rule.right, text, end, 1)
                    and _matches(rule.left, before, left - 1, -1)
                ):
                    output += rule.replacement.replace("&", text[place:end])
                    place = end
                    break
            else:
                output.append(text[place])
                place += 1
        return "".join(output)


def _matches(items: Sequence[PatternItem], text: Sequence[str], place: int, step: int) -> bool:
    """Return whether the items match from `place` in the direction of `step`; each matches greedily."""
    for chars, included, least, most in items:
        count = 0
        while count < most and 0 <= place < len(text) and (text[place] in chars) is included:
            count += 1
            place += step
        if count < least:
            return False
    return True


class SoundRules:
    """Letter-to-sound rules of one language. Thread-safe."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        """Create the rules from the front end's file."""
        self._letters = frozenset(data["letters"])
        self._replacements: Mapping[str, str] = data["replacements"]
        self._tags: Mapping[str, str] = data["tags"]
        self._words: Mapping[str, str] = data["words"]
        self._passes = [RulePass.of(rules) for rules in data["passes"]]
        self._clauses = [RulePass.of(rules) for rules in data["clauses"]]

    def __call__(self, text: str) -> list[Token]:
        """Return the words and marks of a text, with their places in it.

        A word in Latin letters, in a language of another script, stays as it is, with the origin "latin".
        """
        parts = list(_PART.finditer(text))
        line = EDGE + "".join(EDGE + self._rewrite_part(part) for part in parts) + EDGE + EDGE
        for rule_pass in self._clauses:
            line = rule_pass(line)
        phonemes_of_parts = line[2:-2].split(EDGE) if parts else []
        ends = [part.start() for part in parts[1:]] + [len(text)]
        return [
            self._token(part, phonemes, " " if part.end() < end else "")
            for part, phonemes, end in zip(parts, phonemes_of_parts, ends if parts else [], strict=True)
        ]

    def _token(self, part: re.Match[str], phonemes: str, space: str) -> Token:
        """Return a token with its origin: a mark, Latin letters of another language, or rules."""
        if part["mark"]:
            return Token(part[0], *part.span(), phonemes, space, origin="mark")
        if _LATIN.match(part[0]) and not "".join(self._normalize_letters(part[0])).strip("'"):
            return Token(part[0], *part.span(), part[0], space, origin="latin")
        return Token(part[0], *part.span(), phonemes, space, origin="rules")

    def _rewrite_part(self, part: re.Match[str]) -> str:
        if part["mark"]:
            return part[0].translate(_SPOKEN_MARKS)
        clitic, apostrophe, word = "".join(self._normalize_letters(part[0])).rpartition("'")
        if not clitic + word:
            return ""
        text = EDGE + self._tags.get(word, "") + clitic + apostrophe + self._words.get(word, word) + EDGE
        for rule_pass in self._passes:
            text = rule_pass(text)
        return text.strip(EDGE).replace("'", "")

    def _normalize_letters(self, word: str) -> Iterator[str]:
        """Yield the letters of a word in lower case; foreign letters as their replacements."""
        for char in word.lower():
            if char in self._letters:
                yield char
            else:
                yield self._replacements.get(char, "")
