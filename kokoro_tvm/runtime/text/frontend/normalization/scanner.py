"""Classify and verbalize written forms, from the beginning of a text to its end.

Wherever a word, a number or a sign begins, the rules of the language are tried in order. What no rule matches
is a word, digits or a sign by itself. Patterns have no unbounded repetition, so the time is linear.
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
_JOINTS = frozenset(".,:/-–")  # a number continues after one
_APOSTROPHES = "’ʼ´`＇‘"
_MAX_DEPTH = 3  # of parts that are verbalized again


@dataclass(frozen=True)
class FormEdits:
    """Result of a scan.

    Attributes:
        edits: Words for each written form, in order.
        changed: (word, word in letters of the language), for a notice.
    """

    edits: list[Edit]
    changed: list[tuple[str, str]]


class Verbalizer:
    """Verbalizer of a language's written forms. Thread-safe."""

    def __init__(self, language: LanguageRules, unread: Collection[str] = ()) -> None:
        """Create a verbalizer; rules of the kinds in `unread` are skipped."""
        self._language = language
        self._unread = frozenset(unread)

    def scan(self, source: SourceText) -> FormEdits:
        """Return the edits of a text; characters of fixed links stay."""
        text = fold(source.text)
        flag_edits: list[Edit] = []
        for link in source.links:
            written = text[link.start : link.end]
            if link.flags and written.isdecimal():
                flag_edits.append(Edit(link.start, link.end, self._read_flagged(written, link.flags)))
            if link.is_fixed or (link.flags and written.isdecimal()):
                text = text[: link.start] + _LINKED * len(written) + text[link.end :]
        scan = FormEdits([], [])
        self._scan(text, scan, 0)
        edits = sorted([*scan.edits, *flag_edits], key=lambda edit: edit.start)
        return FormEdits(self._add_spaces(edits, text), scan.changed)

    def _read_flagged(self, figures: str, flags: str) -> str:
        """Return a number as a link's flags ask for: "a hundred and five" with "a" and "&"."""
        full = self._language.says_and and ("&" in flags or "n" in flags)
        words = self._language.spell(figures, "full" if full else "cardinal")
        return "a " + words.removeprefix("one ") if "a" in flags and words.startswith("one ") else words

    def _read(self, text: str, scan: FormEdits, depth: int) -> str:
        """Verbalize a part of a form again."""
        inner = FormEdits([], scan.changed)
        self._scan(text, inner, depth + 1)
        words, done = "", 0
        for edit in self._add_spaces(inner.edits, text):
            words += text[done : edit.start] + edit.text
            done = edit.end
        return words + text[done:]

    def _scan(self, text: str, scan: FormEdits, depth: int) -> None:
        place, chars = 0, frozenset(text)
        while place < len(text):
            char = text[place]
            if char == " " or char == _LINKED:
                place += 1
                continue
            kind = _kind(char)
            edit = self._match_form(text, place, kind, chars, scan, depth) if depth < _MAX_DEPTH else None
            if edit is not None:
                scan.edits.append(edit)
                place = edit.end
            elif kind == "l":
                place = self._keep_word(text, place, scan)
            elif kind == "d":
                end = _end(_FIGURES, text, place)
                scan.edits.append(Edit(place, end, self._language.figures(text[place:end])))
                place = end
            else:
                self._read_sign(text, place, scan, depth)
                place += 1

    def _match_form(
        self, text: str, place: int, kind: str, chars: frozenset[str], scan: FormEdits, depth: int
    ) -> Edit | None:
        """Return the edit of the first rule that matches at a place, or None."""
        before = text[place - 1] if place else ""
        is_inside = (
            self._language.joint != ""
            and kind in "ld"
            and before not in ("", _LINKED)
            and _kind(before) in "ld"
        )
        continues_number = kind == "d" and before in _JOINTS and place > 1 and _kind(text[place - 2]) == "d"
        is_point = text[place] == "." and text[place + 1 : place + 2].isdecimal()
        for rule in self._language.rules_beginning_with(text[place], "ps" if is_point else kind):
            if is_inside != (rule.where == "inside") or (continues_number and rule.where == "word"):
                continue
            if rule.kind in self._unread or any(map(chars.isdisjoint, rule.needs)):
                continue
            match = self._language.match(rule, text, place)
            if match is not None and _LINKED in match.group():  # an address that runs on into a link
                link = text.index(_LINKED, place)
                match = self._language.match(rule, text, place, link)
            if match is not None:
                words = fill_template(
                    self._language, rule, match.groupdict(), lambda part: self._read(part, scan, depth)
                )
                return Edit(place, match.end(), words)
        return None

    def _keep_word(self, text: str, place: int, scan: FormEdits) -> int:
        """Keep a word, with its letters replaced by those of the language; return its end."""
        end = _end(_WORD, text, place) if self._language.joint else place + 1
        word = text[place:end]
        replacement = self._transliterate(word)
        if replacement != word:
            replacement = replacement if any(map(str.isalpha, replacement)) else ""
            scan.edits.append(Edit(place, end, replacement))
            scan.changed.extend([(word, replacement)] if replacement else [])
        return end

    def _transliterate(self, word: str) -> str:
        """Return a word in letters of the language."""
        if word.isascii() or self._language.letters.fullmatch(word):
            return word
        replacement = ""
        for char in word:
            if char == "'" or self._language.letters.fullmatch(char):
                replacement += char
            else:
                replacement += self._language.replacements.get(char) or self._strip_accent(char)
        return replacement

    def _strip_accent(self, char: str) -> str:
        """Return a letter without accents if the language has it, else ""."""
        plain = unicodedata.normalize("NFKD", char)[0]
        return plain if self._language.letters.fullmatch(plain) else ""

    def _read_sign(self, text: str, place: int, scan: FormEdits, depth: int) -> None:
        char = text[place]
        words = self._language.signs.get(char)
        if words is None and not char.isascii() and unicodedata.category(char)[0] == "N":
            plain = fold(unicodedata.normalize("NFKC", char))
            words = self._read(plain, scan, depth) if plain != char and depth < _MAX_DEPTH else ""
            words = words if any(map(str.isalpha, words)) else ""
        if words is not None:
            scan.edits.append(Edit(place, place + 1, words))

    def _add_spaces(self, edits: list[Edit], text: str) -> list[Edit]:
        """Add spaces to edits whose words would touch others."""
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


_LINKED = "\ue000"


def fold(text: str) -> str:
    """Fold a text character by character to the forms that rules match.

    Digits of every script become 0 to 9. Spaces, apostrophes inside words, hyphens and minus signs become
    those of ASCII. Wide forms become narrow.
    """
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
    """Return "l" for a letter, "d" for a digit, "s" for a sign."""
    if char.isalpha():
        return "l"
    return "d" if char.isdecimal() else "l" if unicodedata.category(char) in ("Mn", "Mc") else "s"


def _end(pattern: re.Pattern[str], text: str, place: int) -> int:
    match = pattern.match(text, place)
    return match.end() if match and match.end() > place else place + 1


def _touches(char: str, other: str) -> bool:
    return _kind(char) != "s" and _kind(other) != "s" and not other.isspace()
