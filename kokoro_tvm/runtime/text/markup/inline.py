"""Parser of markup in brackets: pauses, voices and rates until the next, and links of single words.

`[pause:0.5s]`, `[voice:bf_emma] ... [voice:]`, `[rate:1.2] ... [rate:]`, `[word](/phonemes/)`. Other brackets
are text, and `[About us](/about/)` is a link to a page. The result depends on the text alone, not on its
portions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from kokoro_tvm.runtime.notices import quoted, warn
from kokoro_tvm.runtime.text.frontend.source import WORD, SourceText, parse_link
from kokoro_tvm.runtime.text.markup.items import Break, MarkupItem, MarkupVocabulary, SpeakingStyle, TextRun
from kokoro_tvm.runtime.text.markup.values import check_symbols, locate_errors, parse_duration, parse_rate

LONGEST_LINK = 500
"""Most characters of a link."""

_LOOKAHEAD = 2 * LONGEST_LINK + 4  # characters that are enough to classify a bracket
_MAX_MERGED = 1 << 10  # runs of text
_SETTING = re.compile(r"(pause|voice|rate):(.*)", re.DOTALL)
_BEGUN = re.compile(r"\[(pause|voice|rate):")
_PHONEMES_ONLY = re.compile("[ˈˌ ]")  # no path has these
_LETTERS = re.compile("[a-z]+")
_VOWELS = frozenset("aeiou")
_NOT_ENGLISH = frozenset("ceoqrxy")  # phonemes of other languages
_BLANK_LINE = re.compile(r"\n[^\S\n]*\n")


def parse_brackets(portions: Iterator[str], vocabulary: MarkupVocabulary) -> Iterator[MarkupItem]:
    """Yield the items of a text with brackets as it arrives.

    Raises:
        InputError: With line and column: the markup is invalid.
    """
    return _BracketParser(portions, vocabulary).items()


def collapse_space(source: SourceText) -> SourceText:
    """Return the text without space at both ends, and with one space for every run of it."""
    return source.join_slices(word.span() for word in WORD.finditer(source.text))


def _merge_runs(runs: list[TextRun]) -> TextRun:
    """Join consecutive runs of one style."""
    return TextRun(SourceText.concatenate(run.source for run in runs), runs[0].style)


class _BracketParser:
    """Buffer of the text that is not parsed yet, and the current style."""

    def __init__(self, portions: Iterator[str], vocabulary: MarkupVocabulary) -> None:
        self._portions = portions
        self._vocabulary = vocabulary
        self._buffer = ""
        self._start = 0  # place of the buffer in the text
        self._line, self._column = 1, 1
        self._style = SpeakingStyle()

    def items(self) -> Iterator[MarkupItem]:
        plain: list[TextRun] = []  # brackets that are text, yielded together before more is read
        while self._buffer or self._receive():
            opening = self._buffer.find("[")
            if opening == 0:
                items = list(self._bracket())
            else:
                items = [self._take_text(len(self._buffer) if opening < 0 else opening)]
            if plain and plain[0].style != self._style:
                yield _merge_runs(plain)
                plain = []
            if len(items) == 1 and isinstance(items[0], TextRun) and not items[0].source.links:
                plain.append(items[0])
                items = []
            if plain and (items or len(self._buffer) < _LOOKAHEAD or len(plain) == _MAX_MERGED):
                yield _merge_runs(plain)
                plain = []
            yield from items

    def _bracket(self) -> Iterator[MarkupItem]:
        """Yield what the bracket at the beginning of the buffer asks for, or the bracket as text."""
        close = self._find("]", 1)
        inner = self._buffer[1:close] if close > 0 else "["
        if "[" in inner or _BLANK_LINE.search(inner) or not inner.strip():
            if setting_start := _BEGUN.match(self._buffer):
                self._note(f"'{setting_start[0]}' has no closing bracket")
        elif setting := _SETTING.fullmatch(inner):
            yield from self._apply_setting(setting[1], setting[2])
            self._consume(close + 1)
            return
        elif self._find("(", close + 1, close + 2) > 0:
            end = self._find(")", close + 2)
            if end > 0:
                yield self._take_link(close, end)
                return
            if self._buffer[close + 2 : close + 3] == "/":
                self._note(f"{quoted(self._buffer[: close + 3])} has no closing round bracket")
        yield self._take_text(1)

    def _apply_setting(self, name: str, value: str) -> Iterator[MarkupItem]:
        value = value.strip()
        with locate_errors(self._line, self._column):
            if name == "pause":
                yield Break(pause=parse_duration(value, "[pause:0.5s] or [pause:500ms]"))
                return
            if name == "rate":
                self._style = replace(self._style, rate=parse_rate(value) if value else 1.0)
                return
            self._vocabulary.language(value or None)
        if (value or None) != self._style.voice:
            self._style = replace(self._style, voice=value or None)
            yield Break()

    def _take_link(self, close: int, end: int) -> TextRun:
        """Return the text in square brackets, with the link that the round brackets ask for."""
        link = parse_link(self._buffer[close + 2 : end])
        text = SourceText.of(self._buffer[1:close], self._start + 1)
        if link is not None and link.phonemes and not self._are_phonemes(link.phonemes, text.text):
            link = None
        if link is not None:
            if link.phonemes:
                with locate_errors(self._line, self._column):
                    link = replace(link, phonemes=check_symbols(link.phonemes, self._vocabulary.symbols))
            text = collapse_space(text)
            text = replace(text, links=(replace(link, start=0, end=len(text.text)),))
        self._consume(end + 1)
        return TextRun(text, self._style)

    def _are_phonemes(self, written: str, text: str) -> bool:
        """Return whether the characters between slashes are phonemes, not a path.

        Phonemes have a stress mark or a space, or are all symbols of the model. Small letters alone must also
        have a vowel, be sounds of the language, and be no word of the text.
        """
        if _PHONEMES_ONLY.search(written):
            return True
        symbols = set(written)
        if not symbols <= set(self._vocabulary.symbols):
            return False
        if not _LETTERS.fullmatch(written):
            return True
        excluded = _NOT_ENGLISH if self._vocabulary.language(self._style.voice) in ("a", "b") else set[str]()
        return bool(symbols & _VOWELS) and not symbols & excluded and written not in text.lower().split()

    def _take_text(self, length: int) -> TextRun:
        text, start = self._buffer[:length], self._start
        self._consume(length)
        return TextRun(SourceText.of(text, start), self._style)

    def _find(self, char: str, start: int, end: int | None = None) -> int:
        """Return the place of a character in the buffer within `LONGEST_LINK`, or -1."""
        end = start + LONGEST_LINK if end is None else end
        while (place := self._buffer.find(char, start, end)) < 0:
            if len(self._buffer) >= end or not self._receive():
                return -1
        return place

    def _note(self, what: str) -> None:
        warn(f"In line {self._line}, column {self._column}, {what}; it is read as text.")

    def _consume(self, length: int) -> None:
        consumed = self._buffer[:length]
        lines = consumed.count("\n")
        self._line += lines
        self._column = length - consumed.rfind("\n") if lines else self._column + length
        self._start += length
        self._buffer = self._buffer[length:]

    def _receive(self) -> bool:
        portion = next(self._portions, None)
        self._buffer += portion or ""
        return portion is not None
