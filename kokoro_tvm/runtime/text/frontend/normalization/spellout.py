"""Numbers in words by the spellout rules of Unicode CLDR (https://www.unicode.org/reports/tr35/, part 3)."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import TypeAlias

RuleSets: TypeAlias = Mapping[str, Sequence[tuple[int, int, str]]]
"""Name of a rule set to its rules in order: (least number, divisor, text)."""

# Parts of a rule's text: optional remainder, numbers by a rule set, plural.
_PART = re.compile(
    r"\[(?P<rest>[^\[\]]*)\]|(?P<high>←(?P<by>[^←]*)←)|(?P<low>→(?P<with>[^→]*)→(?P<before>→)?)|=(?P<as>[^=]*)="
    r"|\$\(cardinal,one\{(?P<one>[^{}]*)\}other\{(?P<other>[^{}]*)\}\)\$"
)


def spell_out(number: int, rules: RuleSets, name: str) -> str | None:
    """Return a non-negative integer in words by a rule set, or None if the set has none for it."""
    rule_set = rules[name]
    place = bisect_right(rule_set, number, key=lambda rule: rule[0]) - 1
    return None if place < 0 else _apply_rule(number, rules, name, place)


def _apply_rule(number: int, rules: RuleSets, name: str, place: int) -> str | None:
    base, divisor, text = rules[name][place]
    if number % divisor == 0 and base % divisor != 0 and "→" in text and place:
        return _apply_rule(number, rules, name, place - 1)  # a rule for a remainder does not fit
    return _expand(text, number, rules, name, place)


def _expand(text: str, number: int, rules: RuleSets, name: str, place: int) -> str | None:
    divisor = rules[name][place][1]
    words, end = "", 0
    for part in _PART.finditer(text):
        words += text[end : part.start()]
        end = part.end()
        if part["one"] is not None:
            part_words: str | None = part["one"] if number // divisor == 1 else part["other"]
        elif part["rest"] is not None:
            part_words = _expand(part["rest"], number, rules, name, place) if number % divisor else ""
        elif part["high"]:
            part_words = spell_out(number // divisor, rules, part["by"] or name)
        elif part["before"]:
            part_words = _apply_rule(number % divisor, rules, name, place - 1)
        elif part["low"]:
            part_words = spell_out(number % divisor, rules, part["with"] or name)
        else:  # or a pattern of digits, which are no words
            part_words = spell_out(number, rules, part["as"]) if part["as"] in rules else None
        if part_words is None:
            return None
        words += part_words
    return words + text[end:]
