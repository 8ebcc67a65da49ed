"""Markup in square brackets: pauses, voices and rates that last until the next, and links of single words.

`[pause:0.5s]`, `[voice:bf_emma] ... [voice:]`, `[rate:1.2] ... [rate:]`, `[word](/phonemes/)`. All other
brackets are text, and `[About us](/about/)` is a link to a page. What is parsed depends on the text alone,
not on the portions it comes in.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from kokoro_tvm.runtime.notices import quoted, warn
from kokoro_tvm.runtime.text.frontend.source import WORD, SourceText, parse_link
from kokoro_tvm.runtime.text.markup.items import Break, MarkupItem, MarkupVocabulary, SpeakingStyle, TextRun
from kokoro_tvm.runtime.text.markup.values import check_symbols, locate_errors, parse_duration, rate

__all__ = ["LONGEST_LINK", "collapse_space", "parse_brackets"]

LONGEST_LINK = 500
"""Characters that phonemes or another text are given for, at most."""

_ENOUGH = 2 * LONGEST_LINK + 4  # characters in which it shows what a bracket is
_TOGETHER = 1 << 10
_SETTING = re.compile(r"(pause|voice|rate):(.*)", re.DOTALL)
_BEGUN = re.compile(r"\[(pause|voice|rate):")
_SURE = re.compile("[ˈˌ ]")  # no path has these
_LETTERS = re.compile("[a-z]+")
_VOWELS = frozenset("aeiou")
_NOT_ENGLISH = frozenset("ceoqrxy")  # letters that are phonemes of other languages
_BLANK_LINE = re.compile(r"\n[^\S\n]*\n")


def parse_brackets(portions: Iterator[str], known: MarkupVocabulary) -> Iterator[MarkupItem]:
    """Stretches and breaks of a text with brackets, as it comes. Raises InputError with line and column."""
    return _BracketParser(portions, known).items()


def collapse_space(source: SourceText) -> SourceText:
    """The text without space at both ends, and with one space for every run of it inside."""
    return source.join_slices(word.span() for word in WORD.finditer(source.text))


def _merged(stretches: list[TextRun]) -> TextRun:
    """Stretches of one style that follow each other, as one."""
    return TextRun(SourceText.concatenate(each.source for each in stretches), stretches[0].style)


class _BracketParser:
    """The text that has come and is not parsed yet, and the style of what follows."""

    def __init__(self, portions: Iterator[str], known: MarkupVocabulary) -> None:
        self._portions = portions
        self._known = known
        self._buffer = ""
        self._start = 0  # place of the buffer in the text
        self._line, self._column = 1, 1
        self._style = SpeakingStyle()

    def items(self) -> Iterator[MarkupItem]:
        plain: list[TextRun] = []  # brackets that were none: handed out together, but before more is read
        while self._buffer or self._more():
            opening = self._buffer.find("[")
            if opening == 0:
                found = list(self._bracket())
            else:
                found = [self._plain(len(self._buffer) if opening < 0 else opening)]
            if plain and plain[0].style != self._style:
                yield _merged(plain)
                plain = []
            if len(found) == 1 and isinstance(found[0], TextRun) and not found[0].source.links:
                plain.append(found[0])
                found = []
            if plain and (found or len(self._buffer) < _ENOUGH or len(plain) == _TOGETHER):
                yield _merged(plain)
                plain = []
            yield from found

    def _bracket(self) -> Iterator[MarkupItem]:
        """What the bracket at the beginning of the buffer asks for; itself where that is nothing."""
        close = self._find("]", 1)
        inner = self._buffer[1:close] if close > 0 else "["
        if "[" in inner or _BLANK_LINE.search(inner) or not inner.strip():
            if begun := _BEGUN.match(self._buffer):
                self._note(f"'{begun[0]}' has no closing bracket")
        elif setting := _SETTING.fullmatch(inner):
            yield from self._set(setting[1], setting[2])
            self._consume(close + 1)
            return
        elif self._find("(", close + 1, close + 2) > 0:
            end = self._find(")", close + 2)
            if end > 0:
                yield self._linked(close, end)
                return
            if self._buffer[close + 2 : close + 3] == "/":
                self._note(f"{quoted(self._buffer[: close + 3])} has no closing round bracket")
        yield self._plain(1)

    def _set(self, name: str, value: str) -> Iterator[MarkupItem]:
        value = value.strip()
        with locate_errors(self._line, self._column):
            if name == "pause":
                yield Break(pause=parse_duration(value, "[pause:0.5s] or [pause:500ms]"))
                return
            if name == "rate":
                self._style = replace(self._style, rate=rate(value) if value else 1.0)
                return
            self._known.language(value or None)
        if (value or None) != self._style.voice:
            self._style = replace(self._style, voice=value or None)
            yield Break()

    def _linked(self, close: int, end: int) -> TextRun:
        """The text in square brackets, with what the round ones ask for; what is unknown asks for nothing."""
        link = parse_link(self._buffer[close + 2 : end])
        text = SourceText.of(self._buffer[1:close], self._start + 1)
        if link is not None and link.phonemes and not self._are_phonemes(link.phonemes, text.text):
            link = None
        if link is not None:
            if link.phonemes:
                with locate_errors(self._line, self._column):
                    link = replace(link, phonemes=check_symbols(link.phonemes, self._known.symbols))
            text = collapse_space(text)
            text = replace(text, links=(replace(link, start=0, end=len(text.text)),))
        self._consume(end + 1)
        return TextRun(text, self._style)

    def _are_phonemes(self, written: str, text: str) -> bool:
        """Whether what stands between slashes is no path.

        It is none with a mark of stress or a space, or in the model's alphabet. Small letters alone are
        phonemes with a vowel among them, if the language may have them all, and a path where they are a word
        of the text."""
        if _SURE.search(written):
            return True
        symbols = set(written)
        if not symbols <= set(self._known.symbols):
            return False
        if not _LETTERS.fullmatch(written):
            return True
        foreign = _NOT_ENGLISH if self._known.language(self._style.voice) in ("a", "b") else set[str]()
        return bool(symbols & _VOWELS) and not symbols & foreign and written not in text.lower().split()

    def _plain(self, length: int) -> TextRun:
        text, start = self._buffer[:length], self._start
        self._consume(length)
        return TextRun(SourceText.of(text, start), self._style)

    def _find(self, char: str, start: int, end: int | None = None) -> int:
        """The place of a character in the buffer, not far from `start`; -1 where it is not."""
        end = start + LONGEST_LINK if end is None else end
        while (found := self._buffer.find(char, start, end)) < 0:
            if len(self._buffer) >= end or not self._more():
                return -1
        return found

    def _note(self, what: str) -> None:
        warn(f"In line {self._line}, column {self._column}, {what}; it is read as text.")

    def _consume(self, length: int) -> None:
        done = self._buffer[:length]
        lines = done.count("\n")
        self._line += lines
        self._column = length - done.rfind("\n") if lines else self._column + length
        self._start += length
        self._buffer = self._buffer[length:]

    def _more(self) -> bool:
        portion = next(self._portions, None)
        self._buffer += portion or ""
        return portion is not None
