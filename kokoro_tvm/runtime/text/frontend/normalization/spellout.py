"""Numbers in words by the spellout rules of Unicode CLDR (https://www.unicode.org/reports/tr35/, part 3)."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import TypeAlias

__all__ = ["RuleSets", "spell_out"]

RuleSets: TypeAlias = Mapping[str, Sequence[tuple[int, int, str]]]
"""Name of a rule set to its rules in order: the least number it is for, its divisor, and its text."""

# What a rule's text has between its letters: a part for a remainder, numbers by a rule set, a plural.
_PART = re.compile(
    r"\[(?P<rest>[^\[\]]*)\]|(?P<high>←(?P<by>[^←]*)←)|(?P<low>→(?P<with>[^→]*)→(?P<before>→)?)|=(?P<as>[^=]*)="
    r"|\$\(cardinal,one\{(?P<one>[^{}]*)\}other\{(?P<other>[^{}]*)\}\)\$"
)


def spell_out(number: int, rules: RuleSets, name: str) -> str | None:
    """Words of a whole number, which is not negative, by the rule set `name`; None where the set has no words
    for it."""
    found = rules[name]
    place = bisect_right(found, number, key=lambda rule: rule[0]) - 1
    return None if place < 0 else _apply(number, rules, name, place)


def _apply(number: int, rules: RuleSets, name: str, place: int) -> str | None:
    base, divisor, text = rules[name][place]
    if number % divisor == 0 and base % divisor != 0 and "→" in text and place:
        return _apply(number, rules, name, place - 1)  # the rule for a remainder does not fit
    return _text(text, number, rules, name, place)


def _text(text: str, number: int, rules: RuleSets, name: str, place: int) -> str | None:
    divisor = rules[name][place][1]
    words, done = "", 0
    for part in _PART.finditer(text):
        words += text[done : part.start()]
        done = part.end()
        if part["one"] is not None:
            spoken: str | None = part["one"] if number // divisor == 1 else part["other"]
        elif part["rest"] is not None:
            spoken = _text(part["rest"], number, rules, name, place) if number % divisor else ""
        elif part["high"]:
            spoken = spell_out(number // divisor, rules, part["by"] or name)
        elif part["before"]:
            spoken = _apply(number % divisor, rules, name, place - 1)
        elif part["low"]:
            spoken = spell_out(number % divisor, rules, part["with"] or name)
        else:  # or a pattern of figures, which are no words
            spoken = spell_out(number, rules, part["as"]) if part["as"] in rules else None
        if spoken is None:
            return None
        words += spoken
    return words + text[done:]
