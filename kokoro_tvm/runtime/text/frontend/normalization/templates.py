"""Templates: what is said for a written form, with the parts of the form in words."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from kokoro_tvm.runtime.text.frontend.normalization.language import LanguageRules, ListEntry, WrittenFormRule

VERBS = (
    *("one", "form", "minor", "number", "figures", "groups", "pieces", "parted", "spelled", "read", "lower"),
    *("roman", "hundredths", "raised", "whole"),
)
"""Verbs for a part of a form, besides the names of a language's `spellout`."""

LISTED_VERBS = ("groups", "pieces", "parted")
"""Verbs that take the names of characters from a list."""

_PART = re.compile(r"\{(?P<group>\w+)(?:\|(?P<verb>[\w-]+)(?::(?P<by>\w+))?)?\}|(?P<mark>[\[\]])")
_PIECE = re.compile(r"[0-9]+|[^\W\d_]+|[^ ]")
_GROUP = re.compile(r"[0-9]+|[A-Za-z]+")
_PARTED = re.compile(r"[0-9]+|[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_a-zA-Z]+|[^ ]")  # also at capitals
_ROMAN = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100, "D": 500, "M": 1000}


def fill_template(
    language: LanguageRules,
    rule: WrittenFormRule,
    groups: Mapping[str, str | None],
    read: Callable[[str], str],
) -> str:
    """Return the words of a form.

    What stands in [] is said if all of its parts are there and not empty.

    Args:
        language: Rules of the language.
        rule: The rule that matched.
        groups: Groups of the match.
        read: Verbalizes a part by the rules again.
    """
    form = _FormGroups(language, rule, groups, read)
    words, end = [""], 0
    is_complete = [True]
    for part in _PART.finditer(rule.say):
        words[-1] += rule.say[end : part.start()]
        end = part.end()
        if part["mark"] == "[":
            words.append("")
            is_complete.append(True)
        elif part["mark"] == "]":
            inner, keep = words.pop(), is_complete.pop()
            words[-1] += inner if keep else ""
        else:
            part_words = form.say_part(part["group"], part["verb"] or "", part["by"] or "")
            words[-1] += part_words
            is_complete[-1] = is_complete[-1] and part_words != ""
    return words[0] + rule.say[end:]


def template_parts(template: str) -> Iterator[tuple[str, str, str]]:
    """Yield group, verb and argument of every part of a template; "" for a missing one."""
    for part in _PART.finditer(template):
        if part["group"]:
            yield part["group"], part["verb"] or "", part["by"] or ""


@dataclass
class _FormGroups:
    """Groups of a matched form, and how each can be said."""

    _language: LanguageRules
    _rule: WrittenFormRule
    _groups: Mapping[str, str | None]
    _read: Callable[[str], str]

    def say_part(self, group: str, verb: str, by: str) -> str:
        """Return a part as `verb`, or else its type, says it; "" if it did not match."""
        written = self._groups.get(group)
        if not written:
            return ""
        kind = self._rule.types.get(group, "")
        if kind in self._language.lists and verb in ("", "one", "form", "minor"):
            return self._agree(self._language.lists[kind][written], verb, by)
        verb = verb or self._language.types.get(kind, {}).get("say", "")
        if verb == "number":
            return self._language.number(self._quantity(group), self._gender(by))
        if verb == "figures":
            return self._language.figures(written)
        if verb == "spelled":
            return " ".join(
                self._spell_figures(piece) if piece.isdecimal() else piece.upper()
                for piece in re.findall("[0-9]+|[^0-9]", unicodedata.normalize("NFKC", written))
            )
        if verb == "groups":
            names = self._language.lists.get(by, {})
            return ", ".join(self._read_pieces([piece], names) for piece in _GROUP.findall(written))
        if verb in ("pieces", "parted"):
            pattern = _PARTED if verb == "parted" else _PIECE
            return self._read_pieces(pattern.findall(written), self._language.lists[by])
        if verb == "read":
            return self._read(written)
        if verb == "lower":
            return written.lower()
        if verb == "":
            return written
        name = "cardinal" if verb in ("roman", "hundredths", "raised", "whole") else verb
        return self._language.spell(self._quantity(group, verb), name, self._gender(by))

    def _spell_figures(self, figures: str) -> str:
        """Return figures among letters: up to 99 as a number, else one by one."""
        is_number = len(figures) < 3 and (figures == "0" or figures[0] != "0")
        return self._language.spell(figures) if is_number else self._language.figures(figures)

    def _quantity(self, group: str, verb: str = "") -> str:
        """Return the number that a part stands for, as digits with a point."""
        written = self._groups.get(group) or ""
        if verb not in ("hundredths", "roman", "whole", "raised"):
            verb = self._language.types.get(self._rule.types.get(group, ""), {}).get("say", "")
        if verb == "hundredths":
            return str(int((written + "0")[:2]))
        if verb == "roman":
            values = [_ROMAN[letter] for letter in written.upper() if letter in _ROMAN]
            return str(
                sum(-value if value < max(values[index:]) else value for index, value in enumerate(values))
            )
        if verb == "whole":
            return "".join(char for char in written if char.isdecimal())
        if verb == "raised":
            return "".join(str(unicodedata.digit(char)) for char in written)
        return self._language.plain(written)

    def _gender(self, group: str) -> str:
        item = self._item(group)
        return "" if item is None or isinstance(item, str) else item.get("gender", "")

    def _item(self, group: str) -> ListEntry | None:
        entries = self._language.lists.get(self._rule.types.get(group, ""), {})
        return entries.get(self._groups.get(group) or "")

    def _agree(self, item: ListEntry, verb: str, by: str) -> str:
        """Return a counted noun.

        "form" agrees with the number in the part `by`, and "minor" does so for its hundredth part. "one" is
        singular.
        """
        if isinstance(item, str):
            return item
        is_one = verb == "one" or (by != "" and self._language.is_one(self._quantity(by)))
        lead = "minor_" if verb == "minor" else ""
        return item.get(f"{lead}{'one' if is_one else 'other'}") or item.get(f"{lead}other", "")

    def _read_pieces(self, pieces: list[str], names: Mapping[str, ListEntry]) -> str:
        """Return every word, number and sign of a form without spaces; a list names the signs."""
        words = []
        for piece in pieces:
            name = names.get(piece) or names.get(piece.lower())
            if isinstance(name, str):
                words.append(name)
            elif piece.isdecimal():
                for figure in piece:
                    name = names.get(figure)
                    words.append(name if isinstance(name, str) else self._language.figures(figure))
            else:
                words.append(piece.upper() if len(piece) == 1 else piece)
        return self._language.joint.join(words)
