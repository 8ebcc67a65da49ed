"""Ordered rewrite rules over a string, as phonologists write them: `focus -> replacement / left _ right`.

`kokoro_tvm/model/front_end/sounds/README.md` says how a language's rules are written; the stage `front_end`
compiles them. Everything a rule looks at has a bound, so that time is linear in the length of the string.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

__all__ = ["EDGE", "MOST", "Pass"]

EDGE = "#"
"""Stands at both ends of every word."""
MOST = 32
"""How often an item repeats at most."""

Item: TypeAlias = "tuple[str, bool, int, int]"
"""Characters, whether it is those (or all others), and how often it stands there, at least and at most."""


@dataclass(frozen=True)
class _Rule:
    """focus: items of one character each; left (from the focus outwards), right: what stands beside it;
    replacement: "&" in it is what was found."""

    focus: Sequence[Item]
    replacement: str
    left: Sequence[Item]
    right: Sequence[Item]


@dataclass(frozen=True)
class Pass:
    """One reading of a string from left to right. At each place the first rule that fits replaces its focus;
    what none fits stays.

    unless: the pass is left out where the string has one of these; feeding: what stands to the left is seen
    as it was rewritten, else as it was; what stands to the right always as it was.
    """

    rules: Sequence[_Rule]
    unless: str = ""
    feeding: bool = False

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Pass:
        """The pass that the front end's file has."""
        return cls([_Rule(*rule) for rule in data["rules"]], data["unless"], data["feeding"])

    @cached_property
    def _by_first(self) -> dict[str, list[_Rule]]:
        found: dict[str, list[_Rule]] = {}
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


def _fits(items: Sequence[Item], text: Sequence[str], place: int, step: int) -> bool:
    """Whether the items stand there in the direction of step, each as often as it can."""
    for chars, among, least, most in items:
        found = 0
        while found < most and 0 <= place < len(text) and (text[place] in chars) is among:
            found += 1
            place += step
        if found < least:
            return False
    return True
