"""Rules for the written forms of a language, as the stage `front_end` compiles them.

`kokoro_tvm/model/front_end/text/README.md` describes the source files.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

from kokoro_tvm.runtime.text.frontend.normalization.spellout import spell_out

ListEntry: TypeAlias = "str | Mapping[str, str]"
"""Meaning of a word of a list: words, or words by plural form ("one", "other") and gender."""

# Combining marks, which Python's \w leaves out, as two ranges: more ranges take ten times as long to compile,
# and every pattern ends with them.
_MARKS = "\u0300-\u036f\u0900-\u0963"
# Numbers that \w takes for letters: ², ½, ①.
_NUMBERS = (
    "\u00b2\u00b3\u00b9\u00bc-\u00be\u2070-\u2089\u2150-\u2189\u2460-\u249b\u24ea-\u24ff\u2776-\u2793"
    "\u3192-\u3195\u3220-\u3229\u3248-\u324f\u3251-\u325f\u3280-\u3289\u32b1-\u32bf"
)
LETTER = rf"(?:[^\W\d_{_NUMBERS}]|[{_MARKS}])"
"""Pattern of a letter or a combining mark."""
WORD = rf"(?:\w|[{_MARKS}])"
"""Pattern of a letter, a combining mark, a digit or a low line."""
_MACRO = re.compile(r"\{(?:(?P<group>[a-z]\w*)|(?P<named>[a-z]\w*)?:(?P<type>[A-Za-z]\w*))\}")
_ONE_BY_ONE = re.compile(r"[0-9]")


@dataclass(frozen=True, eq=False)
class WrittenFormRule:
    """Rule for a written form.

    Attributes:
        kind: Kind of form.
        pattern: Regular expression with macros.
        say: Template of what is said.
        types: Group of the pattern to its type or list.
        after, not_after: Patterns of what stands before it, or does not.
        where: "word" at the beginning of a word; "loose" also where a number goes on ("3/4/5"); "inside"
            within a word of letters and digits ("B52").
        first: Characters that it may begin with.
        begins: Kinds of characters that it may begin with: "l" letters, "d" digits, "p" a point before a
            digit, "s" signs.
        only: Letters of the languages it is for; "" for all.
        lead: List that it begins with.
        needs: Sets of characters, one of each of which is in every match.
    """

    kind: str
    pattern: str
    say: str
    types: Mapping[str, str]
    after: str = ""
    not_after: str = ""
    where: str = "word"
    first: str = ""
    begins: str = ""
    only: str = ""
    lead: str = ""
    needs: Sequence[str] = ()


@dataclass(frozen=True, eq=False)
class Doubt:
    """Context that speaks against a kind of form.

    Attributes:
        kind: Kind of form.
        cost: Cost of a form of this kind in this context.
        after: Pattern of the text before the form.
        before: Pattern of the text behind it.
        near: Pattern of a place anywhere in the paragraph.
        unless: Pattern that no place of the paragraph matches.
        next: Parts of speech of the next word.
        alone: Kinds of forms of which no other place of the paragraph has one.
    """

    kind: str
    cost: int
    after: str = ""
    before: str = ""
    near: str = ""
    unless: str = ""
    next: Sequence[str] = ()
    alone: Sequence[str] = ()


class LanguageRules:
    """Rules of one language. Thread-safe."""

    def __init__(self, data: Mapping[str, Any], code: str = "") -> None:
        """Create the rules from compiled data; `code` selects those of one variant."""
        self.lists: Mapping[str, Mapping[str, ListEntry]] = data["lists"]
        self.types: Mapping[str, Mapping[str, str]] = data["types"]
        self.signs: Mapping[str, str] = data["signs"]
        self.letters = _compiled(f"[{data['letters']}]+")
        """Letters that are read; others are replaced or left out."""
        self.replacements: Mapping[str, str] = data["replacements"]
        self.rules = [
            rule
            for rule in (WrittenFormRule(**one) for one in data["rules"])
            if not rule.only or code in rule.only
        ]
        self.doubts: dict[str, list[Doubt]] = {}
        """Doubts by the kind of form."""
        for one in data.get("doubts", ()):
            self.doubts.setdefault(one["kind"], []).append(Doubt(**one))
        self._numbers: Mapping[str, Any] = data["numbers"]
        self.joint = str(self._numbers["joint"])
        """Separator of words."""
        self._sets = {
            name: [(int(least), int(divisor), text) for least, divisor, text in rules]
            for name, rules in data["spellout"]["sets"].items()
        }
        self._names: Mapping[str, str] = data["spellout"]["names"]
        self._compiled: dict[str, re.Pattern[str]] = {}
        self._beginning: dict[tuple[str, str], tuple[WrittenFormRule, ...]] = {}

    def rules_beginning_with(self, char: str, kind: str) -> Sequence[WrittenFormRule]:
        """Return the rules, in order, whose match may begin with a character.

        Args:
            char: The character.
            kind: "l" letter, "d" digit, "s" sign, "ps" point before a digit.
        """
        rules = self._beginning.get((char, kind))
        if rules is None:
            rules = tuple(
                rule
                for rule in self.rules
                if char in rule.first or any(letter in rule.begins for letter in kind)
            )
            self._beginning[char, kind] = rules
        return rules

    def match(
        self, rule: WrittenFormRule, text: str, place: int, end: int | None = None
    ) -> re.Match[str] | None:
        """Match a rule at a place of a text that ends at `end`."""
        end = len(text) if end is None else end
        if (
            rule.lead
            and rule.pattern not in self._compiled
            and not self._pattern(f"{{:{rule.lead}}}").match(text, place, end)
        ):
            return None  # compiling the pattern takes a thousand times as long
        match = self._pattern(rule.pattern).match(text, place, end)
        if match is None or match.end() == place:
            return None
        if rule.after and not self.stands_before(rule.after, text, place):
            return None
        if rule.not_after and self.stands_before(rule.not_after, text, place):
            return None
        return match

    def stands_before(self, pattern: str, text: str, place: int) -> bool:
        """Return whether the characters before a place end with a pattern."""
        return self._pattern(pattern).search(text[max(0, place - _BEFORE) : place]) is not None

    def stands_at(self, pattern: str, text: str, place: int) -> bool:
        """Return whether a pattern matches at a place of a text."""
        return self._pattern(pattern).match(text, place) is not None

    def stands_in(self, pattern: str, text: str) -> bool:
        """Return whether a pattern matches anywhere in a text."""
        return self._pattern(pattern).search(text) is not None

    def _pattern(self, pattern: str) -> re.Pattern[str]:
        """Return a pattern of the rules, compiled on first use."""
        compiled = self._compiled.get(pattern)
        if compiled is None:
            compiled = self._compiled[pattern] = _compiled(expand_macros(pattern, self.lists, self.types))
        return compiled

    def spell(self, figures: str, name: str = "cardinal", gender: str = "") -> str:
        """Return a number in words, digit by digit if it is too large for words.

        Args:
            figures: Digits, with a point for a decimal.
            name: Verb: a rule set of the language's `spellout`.
            gender: Of the counted noun.
        """
        if not figures.isdecimal():
            return self.number(figures, gender)
        named = self._names.get(f"{name}-{gender}") or self._names[name]
        words = spell_out(int(figures), self._sets, named) if len(figures) <= _LONGEST else None
        return self.figures(figures) if words is None else words

    def figures(self, figures: str) -> str:
        """Return digits in words, one by one."""
        return self.joint.join(self._figure[int(figure)] for figure in _ONE_BY_ONE.findall(figures))

    def number(self, plain: str, gender: str = "") -> str:
        """Return a number, as `plain` writes it, in words."""
        whole, point, rest = plain.partition(".")
        words = self.spell(whole, gender=gender) if whole else ""
        if not point:
            return words
        zeros = len(rest) - len(rest.lstrip("0"))
        if self._numbers["decimals"] == "figures" or not rest[zeros:]:
            after = self.figures(rest)
        else:
            after = self.joint.join(filter(None, (self.figures(rest[:zeros]), self.spell(rest[zeros:]))))
        return self.joint.join(filter(None, (words, self._numbers["point"], after)))

    def plain(self, written: str) -> str:
        """Return the digits of a number, with a point before its decimals.

        Of two separators, the last one is the decimal separator.
        """
        marks = [char for char in written if char in ".,"]
        decimal = self._numbers["decimal"]
        if len(set(marks)) == 2:
            decimal = marks[-1] if marks.count(marks[-1]) == 1 else ""
        elif len(marks) > 1 or (marks and marks[0] != decimal and _grouped(written, marks[0])):
            decimal = ""
        elif marks:
            decimal = marks[0]
        return "".join(
            "." if char == decimal else char for char in written if char.isdigit() or char == decimal
        )

    def is_one(self, number: str) -> bool:
        """Whether a word counted by a number stands in the singular."""
        return self._singular.fullmatch(number.lstrip("0") or "0") is not None

    @property
    def says_and(self) -> bool:
        """Whether numbers are also said with "and"."""
        return "full" in self._names

    @cached_property
    def _figure(self) -> tuple[str, ...]:
        own = self._numbers["figures"]
        return tuple(own) if own else tuple(self.spell(str(figure)) for figure in range(10))

    @cached_property
    def _singular(self) -> re.Pattern[str]:
        return _compiled(self._numbers["singular"])


def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


_LONGEST = 66  # digits of a number that may have words
_BEFORE = 40  # characters before a form that its context may have


def _grouped(written: str, mark: str) -> bool:
    return len(written.rpartition(mark)[2]) >= 3


def expand_macros(
    pattern: str, lists: Mapping[str, Mapping[str, ListEntry]], types: Mapping[str, Mapping[str, str]]
) -> str:
    """Expand the macros of a pattern: {name:type} and {type} to a named group, {:type} to a group."""

    def written(match: re.Match[str]) -> str:
        kind = match["group"] or match["type"]
        name = match["group"] or match["named"]
        if kind in _CLASSES:
            inner = _CLASSES[kind]
        elif kind in lists:
            inner = "|".join(sorted(map(_escaped, lists[kind]), key=len, reverse=True))
        else:
            inner = expand_macros(types[kind]["match"], lists, types)
        return f"(?P<{name}>{inner})" if name else f"(?:{inner})"

    return _MACRO.sub(written, pattern)


_CLASSES = {"L": LETTER, "W": WORD}


def _escaped(word: str) -> str:
    return re.sub(r"[\\^$.|?*+()\[\]{}/]", r"\\\g<0>", word)
