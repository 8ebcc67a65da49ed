"""What is said for a written form: a template, with the parts of the form in words."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from kokoro_tvm.runtime.text.frontend.normalization.language import LanguageRules, ListEntry, WrittenFormRule

__all__ = ["VERBS", "fill_template", "template_parts"]

VERBS = (
    *("one", "form", "minor", "number", "figures", "pieces", "parted", "spelled", "read", "lower", "roman"),
    *("hundredths", "raised", "whole"),
)
"""How a part of a form is said, besides the names of a language's `spellout`."""

_PART = re.compile(r"\{(?P<group>\w+)(?:\|(?P<verb>[\w-]+)(?::(?P<by>\w+))?)?\}|(?P<mark>[\[\]])")
_PIECE = re.compile(r"[0-9]+|[^\W\d_]+|[^ ]")
_PARTED = re.compile(r"[0-9]+|[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_a-zA-Z]+|[^ ]")  # at capitals too
_ROMAN = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100, "D": 500, "M": 1000}


def fill_template(
    language: LanguageRules,
    rule: WrittenFormRule,
    groups: Mapping[str, str | None],
    read: Callable[[str], str],
) -> str:
    """The words of a form whose parts are `groups`. read: what reads a part by the rules again.

    What stands in [] is said where all of its parts are there, and not empty.
    """
    form = _FormGroups(language, rule, groups, read)
    words, done = [""], 0
    whole = [True]
    for part in _PART.finditer(rule.say):
        words[-1] += rule.say[done : part.start()]
        done = part.end()
        if part["mark"] == "[":
            words.append("")
            whole.append(True)
        elif part["mark"] == "]":
            inner, complete = words.pop(), whole.pop()
            words[-1] += inner if complete else ""
        else:
            spoken = form.part(part["group"], part["verb"] or "", part["by"] or "")
            words[-1] += spoken
            whole[-1] = whole[-1] and spoken != ""
    return words[0] + rule.say[done:]


def template_parts(template: str) -> Iterator[tuple[str, str, str]]:
    """Group, verb and argument of every part of a template, "" for what is not there."""
    for part in _PART.finditer(template):
        if part["group"]:
            yield part["group"], part["verb"] or "", part["by"] or ""


@dataclass
class _FormGroups:
    """A form's parts, and what can be made of each."""

    _language: LanguageRules
    _rule: WrittenFormRule
    _groups: Mapping[str, str | None]
    _read: Callable[[str], str]

    def part(self, group: str, verb: str, by: str) -> str:
        """A part as `verb` says it, or its type where there is none; "" for one that is not there."""
        written = self._groups.get(group)
        if not written:
            return ""
        kind = self._rule.types.get(group, "")
        if kind in self._language.lists and verb in ("", "one", "form", "minor"):
            return self._form(self._language.lists[kind][written], verb, by)
        verb = verb or self._language.types.get(kind, {}).get("say", "")
        if verb == "number":
            return self._language.number(self._quantity(group), self._gender(by))
        if verb == "figures":
            return self._language.figures(written)
        if verb == "spelled":
            return " ".join(
                self._language.spell(piece) if piece.isdecimal() else piece.upper()
                for piece in re.findall("[0-9]+|[^0-9]", unicodedata.normalize("NFKC", written))
            )
        if verb in ("pieces", "parted"):
            pattern = _PARTED if verb == "parted" else _PIECE
            return self._pieces(pattern.findall(written), self._language.lists[by])
        if verb == "read":
            return self._read(written)
        if verb == "lower":
            return written.lower()
        if verb == "":
            return written
        name = "cardinal" if verb in ("roman", "hundredths", "raised", "whole") else verb
        return self._language.spell(self._quantity(group, verb), name, self._gender(by))

    def _quantity(self, group: str, verb: str = "") -> str:
        """The number a part stands for, as figures with a point."""
        written = self._groups.get(group) or ""
        if verb not in ("hundredths", "roman", "whole", "raised"):
            verb = self._language.types.get(self._rule.types.get(group, ""), {}).get("say", "")
        if verb == "hundredths":
            return str(int((written + "0")[:2]))
        if verb == "roman":
            values = [_ROMAN[letter] for letter in written.upper() if letter in _ROMAN]
            return str(sum(-v if v < max(values[i:]) else v for i, v in enumerate(values)))
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

    def _form(self, item: ListEntry, verb: str, by: str) -> str:
        """The form of a counted word: "form" by the number in the part `by`, "minor" likewise of its
        hundredth part, "one" for one; else that for several."""
        if isinstance(item, str):
            return item
        one = verb == "one" or (by != "" and self._language.is_one(self._quantity(by)))
        lead = "minor_" if verb == "minor" else ""
        return item.get(f"{lead}{'one' if one else 'other'}") or item.get(f"{lead}other", "")

    def _pieces(self, pieces: list[str], names: Mapping[str, ListEntry]) -> str:
        """Every word, number and sign of what has no spaces: signs by their names in a list."""
        spoken = []
        for piece in pieces:
            name = names.get(piece) or names.get(piece.lower())
            if isinstance(name, str):
                spoken.append(name)
            elif piece.isdecimal():
                for figure in piece:
                    name = names.get(figure)
                    spoken.append(name if isinstance(name, str) else self._language.figures(figure))
            else:
                spoken.append(piece.upper() if len(piece) == 1 else piece)
        return self._language.joint.join(spoken)
