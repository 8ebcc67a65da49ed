"""Divides a text into typed tokens, from its beginning to its end, and puts each in words.

At every place where a word, a number or a sign begins, the rules of the language are tried in their order;
what none of them knows is a word, figures or a sign by itself. Patterns have no unbounded repetition, so that
the time grows with the length of the text.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache

from kokoro_tvm.runtime.text.frontend.normalization.language import LETTER, LanguageRules
from kokoro_tvm.runtime.text.frontend.normalization.templates import fill_template
from kokoro_tvm.runtime.text.frontend.source import Edit, SourceText

__all__ = ["FormEdits", "Verbalizer", "fold"]

_WORD = re.compile(rf"{LETTER}+(?:'{LETTER}+)*")
_FIGURES = re.compile("[0-9]+")
_JOINTS = frozenset(".,:/-–")  # a number goes on behind one
_APOSTROPHES = "’ʼ´`＇‘"
_DEEPEST = 3  # parts that are read again within parts


@dataclass(frozen=True)
class FormEdits:
    """edits: what is said in the place of what, in order; changed: what is said otherwise than it is written,
    and how."""

    edits: list[Edit]
    changed: list[tuple[str, str]]


class Verbalizer:
    """Reads texts by the rules of a language. Threads may share it."""

    def __init__(self, language: LanguageRules, unread: Collection[str] = ()) -> None:
        """unread: kinds of forms whose rules are passed over."""
        self._language = language
        self._unread = frozenset(unread)

    def scan(self, source: SourceText) -> FormEdits:
        """What of a text is said otherwise than it is written; what a link gives phonemes for is left."""
        text = fold(source.text)
        flagged: list[Edit] = []
        for link in source.links:
            written = text[link.start : link.end]
            if link.flags and written.isdecimal():
                flagged.append(Edit(link.start, link.end, self._flagged(written, link.flags)))
            if link.is_fixed or (link.flags and written.isdecimal()):
                text = text[: link.start] + _TAKEN * len(written) + text[link.end :]
        scan = FormEdits([], [])
        self._scan(text, scan, 0)
        edits = sorted([*scan.edits, *flagged], key=lambda edit: edit.start)
        return FormEdits(self._spaced(edits, text), scan.changed)

    def _flagged(self, figures: str, flags: str) -> str:
        """A number as a link wants it: with "&" as "a hundred and five" where it has "a" too."""
        full = self._language.says_and and ("&" in flags or "n" in flags)
        words = self._language.spell(figures, "full" if full else "cardinal")
        return "a " + words.removeprefix("one ") if "a" in flags and words.startswith("one ") else words

    def _read(self, text: str, scan: FormEdits, depth: int) -> str:
        """A part of a form in words."""
        inner = FormEdits([], scan.changed)
        self._scan(text, inner, depth + 1)
        words, done = "", 0
        for edit in self._spaced(inner.edits, text):
            words += text[done : edit.start] + edit.text
            done = edit.end
        return words + text[done:]

    def _scan(self, text: str, scan: FormEdits, depth: int) -> None:
        place, chars = 0, frozenset(text)
        while place < len(text):
            char = text[place]
            if char == " " or char == _TAKEN:
                place += 1
                continue
            kind = _kind(char)
            found = self._form(text, place, kind, chars, scan, depth) if depth < _DEEPEST else None
            if found is not None:
                scan.edits.append(found)
                place = found.end
            elif kind == "l":
                place = self._word(text, place, scan)
            elif kind == "d":
                end = _end(_FIGURES, text, place)
                scan.edits.append(Edit(place, end, self._language.figures(text[place:end])))
                place = end
            else:
                self._sign(text, place, scan, depth)
                place += 1

    def _form(
        self, text: str, place: int, kind: str, chars: frozenset[str], scan: FormEdits, depth: int
    ) -> Edit | None:
        """What the first rule that fits says of the form that begins at a place; chars: those of the text."""
        before = text[place - 1] if place else ""
        inside = (
            self._language.joint != ""
            and kind in "ld"
            and before not in ("", _TAKEN)
            and _kind(before) in "ld"
        )
        joined = kind == "d" and before in _JOINTS and place > 1 and _kind(text[place - 2]) == "d"
        point = text[place] == "." and text[place + 1 : place + 2].isdecimal()
        for rule in self._language.beginning(text[place], "ps" if point else kind):
            if inside != (rule.where == "inside") or (joined and rule.where == "word"):
                continue
            if rule.kind in self._unread or any(map(chars.isdisjoint, rule.needs)):
                continue
            match = self._language.match(rule, text, place)
            if match is not None and _TAKEN in match.group():  # an address that runs on into a link
                link = text.index(_TAKEN, place)
                match = self._language.match(rule, text, place, link)
            if match is not None:
                words = fill_template(
                    self._language, rule, match.groupdict(), lambda part: self._read(part, scan, depth)
                )
                return Edit(place, match.end(), words)
        return None

    def _word(self, text: str, place: int, scan: FormEdits) -> int:
        """A word that stays as it is, as far as its letters are the language's."""
        end = _end(_WORD, text, place) if self._language.joint else place + 1
        word = text[place:end]
        said = self._in_letters(word)
        if said != word:
            said = said if any(map(str.isalpha, said)) else ""
            scan.edits.append(Edit(place, end, said))
            scan.changed.extend([(word, said)] if said else [])
        return end

    def _in_letters(self, word: str) -> str:
        """A word with letters of the language alone."""
        if word.isascii() or self._language.letters.fullmatch(word):
            return word
        said = ""
        for char in word:
            if char == "'" or self._language.letters.fullmatch(char):
                said += char
            else:
                said += self._language.replacements.get(char) or self._plain(char)
        return said

    def _plain(self, char: str) -> str:
        """A letter without its accents, where it is the language's then."""
        plain = unicodedata.normalize("NFKD", char)[0]
        return plain if self._language.letters.fullmatch(plain) else ""

    def _sign(self, text: str, place: int, scan: FormEdits, depth: int) -> None:
        char = text[place]
        said = self._language.signs.get(char)
        if said is None and not char.isascii() and unicodedata.category(char)[0] == "N":
            plain = fold(unicodedata.normalize("NFKC", char))
            said = self._read(plain, scan, depth) if plain != char and depth < _DEEPEST else ""
            said = said if any(map(str.isalpha, said)) else ""
        if said is not None:
            scan.edits.append(Edit(place, place + 1, said))

    def _spaced(self, edits: list[Edit], text: str) -> list[Edit]:
        """The edits with spaces where their words would touch others."""
        if not self._language.joint:
            return edits
        spaced: list[Edit] = []
        done, last = -1, ""  # where the words before end, and with what
        for edit in edits:
            words = edit.text
            if words:
                before = last if done == edit.start else text[edit.start - 1] if edit.start else " "
                after = text[edit.end] if edit.end < len(text) else " "
                if done == edit.start or _touches(words[0], before):
                    words = words if before == " " or words[0] == " " else " " + words
                words += " " if _touches(words[-1], after) else ""
                done, last = edit.end, words[-1]
            spaced.append(Edit(edit.start, edit.end, words))
        return spaced


_TAKEN = "\ue000"


def fold(text: str) -> str:
    """The text as rules read it, character by character: figures of every script as 0 to 9, every space as
    one, apostrophes inside a word as ', hyphens and minus signs as -, what is wide as it is narrow."""
    if text.isascii():
        return text.translate(_SPACES)
    chars = [_fold(char) for char in text]
    for place in range(1, len(chars) - 1):
        if chars[place] in _APOSTROPHES and chars[place - 1].isalpha() and chars[place + 1].isalpha():
            chars[place] = "'"
    return "".join(chars)


_SPACES = dict.fromkeys((9, 10, 11, 12, 13, 28, 29, 30, 31), " ")


@lru_cache(2048)
def _fold(char: str) -> str:
    if char.isspace():
        return " "
    if "\uff01" <= char <= "\uff5e":
        return chr(ord(char) - 0xFEE0)
    if char in "\u2010\u2011\u2212":
        return "-"
    figure = unicodedata.decimal(char, None)
    return char if figure is None else str(figure)


@lru_cache(2048)
def _kind(char: str) -> str:
    """l letter, d figure, s sign."""
    if char.isalpha():
        return "l"
    return "d" if char.isdecimal() else "l" if unicodedata.category(char) in ("Mn", "Mc") else "s"


def _end(pattern: re.Pattern[str], text: str, place: int) -> int:
    match = pattern.match(text, place)
    return match.end() if match and match.end() > place else place + 1


def _touches(char: str, other: str) -> bool:
    return _kind(char) != "s" and _kind(other) != "s" and not other.isspace()
