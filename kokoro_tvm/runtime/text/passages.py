"""Split a text that arrives in portions into sentences.

Where a sentence ends depends on the text alone, not on its portions. A heading, a list item and a table row
end if the next line begins another block. A wrong break is audible and a missing one only delays, so a mark
before a small letter ends nothing, and a mark after an abbreviation or initial ends a sentence only before a
word that often starts one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from kokoro_tvm.runtime.prosody import Boundary
from kokoro_tvm.runtime.text.abbreviations import find_abbreviation, is_sentence_start
from kokoro_tvm.runtime.text.frontend.blocks import LOOKAHEAD, match_block, may_begin_block

_OPENING = "\"'“‘«¿¡([{*_「『（《〈【〔"
_CLOSING = "\"'”’»)\\]}*_」』）》〉】〕"
_WIDE = "。｡！？।॥"  # need no space after them
_QUOTED_ON = re.compile("[」』）]")  # a particle may follow, as in 「はい。」と答えた
_HIRAGANA = re.compile("[ぁ-ゟ]")
_WITHOUT_SPACES = re.compile("[ぁ-ヿ一-鿿]")
_FRENCH = r"(?:[ \u00a0\u202f]»(?!\w))?"  # a quote's end has a space before it; German quotes begin so
_PARAGRAPH = r"\n[^\S\n]*\n\s*"
_END = re.compile(rf"(?P<mark>(?:[.!?…]+|[{_WIDE}]+)[{_CLOSING}]*{_FRENCH})(?P<gap>\s*)|{_PARAGRAPH}|\n\s*")
_BLANK_LINE = re.compile(r"\n[^\S\n]*\n")
_CLAUSE = re.compile(rf"[;:,—、，；：][{_CLOSING}]*\s*")
_MAX_PASSAGE = 1500  # characters; a longer sentence is cut
_MAX_GAP = 4096  # characters of space, after which the next character is not awaited
_MAX_OPENING = 64  # quotes and brackets, after which the next letter is not awaited
_UNFINISHED = re.compile(r"[^\W\d_]*(?:['’][^\W\d_]*)?")
_MAX_WORD = 32  # characters of the word after an abbreviation, and of the text behind it


@dataclass(frozen=True)
class Passage:
    """Part of a text, without space at both ends.

    Attributes:
        start: Place of its first character in the text.
        boundary: What ends it; "end" if only space follows in the text.
    """

    text: str
    start: int
    boundary: Boundary


def split_passages(portions: Iterable[str]) -> Iterator[Passage]:
    """Yield the sentences of a text, each as soon as its end is certain.

    A sentence of more than 1,500 characters comes in parts.
    """
    reader = _PassageReader(iter(portions))
    while (passage := reader.read()) is not None:
        yield passage


class _PassageReader:
    """Buffer of the text that has arrived and is not yielded yet."""

    def __init__(self, portions: Iterator[str]) -> None:
        self._portions = portions
        self._buffer = ""
        self._start = 0  # of the buffer in the text
        self._is_complete = False
        self._breaks = (
            2  # line breaks before the buffer, two and more for a blank line; 0 once it is looked at
        )
        self._mark = 0  # length of the block mark that the buffer begins with
        self._is_one_line = False  # whether the block ends with its line
        self._is_numbered = False  # whether the line belongs to a numbered item

    def read(self) -> Passage | None:
        """Return the next passage, or None at the end of the text."""
        self._skip_space()
        if not self._buffer:
            return None
        while (end := self._find_end()) is None:
            if not self._receive():
                self._is_complete = True
        return self._take(*end)

    def _find_end(self) -> tuple[int, Boundary] | None:
        """Return (length, boundary) of the first passage in the buffer, or None if more text is needed."""
        buffer = self._buffer
        if self._breaks and not self._begin_line():
            return None
        for match in _END.finditer(buffer):
            if match.start() < self._mark:
                continue  # the point of "2. Second"
            length = match.start() + len(match["mark"] or "")
            if match.end() - match.start() > _MAX_GAP:
                return length, "paragraph"
            if match.start() > _MAX_PASSAGE:
                break
            if match.end() == len(buffer) and not self._is_complete:
                return None
            boundary = self._classify(match)
            if boundary is None:
                return None
            if boundary != "clause":
                return length, boundary
        # Half of a blank line may have arrived: cut only what later text cannot change.
        if len(buffer) > 2 * _MAX_PASSAGE or (self._is_complete and len(buffer) > _MAX_PASSAGE):
            return self._find_cut(), "clause"
        return (len(buffer), "end") if self._is_complete else None

    def _classify(self, match: re.Match[str]) -> Boundary | None:
        """Classify a match of `_END`: "clause" ends nothing; None if more text is needed."""
        buffer = self._buffer
        if match.end() == len(buffer):
            return "end"
        if "\n" in match[0]:
            if not self._can_match_block(match.end()):
                return None
            if self._is_one_line or match_block(buffer, match.end(), self._is_numbered):
                return "paragraph"
        after = match.end()
        while after < len(buffer) and buffer[after] in _OPENING and after < match.end() + _MAX_OPENING:
            after += 1
        if after == len(buffer) and not self._is_complete:
            return None
        first = buffer[after : after + 1]
        mark, gap = match["mark"], match["gap"]
        if _BLANK_LINE.search(match[0]):
            return "paragraph"
        if mark is None:
            return "clause"
        if mark[0] in _WIDE:
            continues = after == match.end() and not gap and _QUOTED_ON.match(mark[-1])
            return "clause" if continues and _HIRAGANA.match(first) else "sentence"
        if not gap:
            return "sentence" if mark[0] in "!?" and _WITHOUT_SPACES.match(first) else "clause"
        if first.islower():
            return "clause"
        before = buffer[max(0, match.start() - 20) : match.start()]
        abbreviation = find_abbreviation(before) if mark == "." else None
        if abbreviation is None:
            return "sentence"
        following = buffer[after : after + _MAX_WORD]
        if len(following) < _MAX_WORD and _UNFINISHED.fullmatch(following) and not self._is_complete:
            return None
        return "sentence" if is_sentence_start(following, abbreviation) else "clause"

    def _begin_line(self) -> bool:
        """Find the block that the buffer begins; return False if more text is needed."""
        if not self._can_match_block(0):
            return False
        block = match_block(self._buffer, 0, self._is_numbered or self._breaks > 1)
        self._mark = block.end if block else 0
        self._is_one_line = block is not None and block.is_one_line
        if block or self._breaks > 1:
            self._is_numbered = block is not None and block.kind == "numbered"
        self._breaks = 0
        return True

    def _can_match_block(self, place: int) -> bool:
        """Return whether the buffer holds enough to recognize a block at a place."""
        rest = len(self._buffer) - place
        return (
            self._is_complete or rest >= LOOKAHEAD or (rest > 0 and not may_begin_block(self._buffer[place]))
        )

    def _find_cut(self) -> int:
        """Return where to cut an endless passage: after a clause mark, else at a space, else anywhere."""
        window = self._buffer[:_MAX_PASSAGE]
        places = [match.end() for match in _CLAUSE.finditer(window, _MAX_PASSAGE // 2)]
        if not places:
            places = [match.end() for match in re.finditer(r"\s+", window)]
        return places[-1] if places else _MAX_PASSAGE

    def _take(self, length: int, boundary: Boundary) -> Passage:
        passage = Passage(self._buffer[:length].rstrip(), self._start, boundary)
        self._buffer, self._start = self._buffer[length:], self._start + length
        self._mark = 0
        return passage

    def _skip_space(self) -> None:
        while True:
            rest = self._buffer.lstrip()
            self._start += len(self._buffer) - len(rest)
            self._breaks += self._buffer.count("\n", 0, len(self._buffer) - len(rest))
            self._buffer = rest
            if rest or not self._receive():
                return

    def _receive(self) -> bool:
        portion = next(self._portions, None)
        self._buffer += portion or ""
        return portion is not None
