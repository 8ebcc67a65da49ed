"""Sentences of a text that need not be there in full: what is spoken as soon as it is complete.

Where a sentence ends depends on the text alone, not on the portions it comes in. A heading, an item of a list
and a row of a table end where the next line begins something else. A break in the wrong place is heard, a
missing one only delays: so a mark before a small letter ends nothing, and one after an abbreviation or an
initial only before a word that often begins a sentence.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from kokoro_tvm.runtime.prosody import Boundary
from kokoro_tvm.runtime.text.abbreviations import find_abbreviation, is_sentence_start
from kokoro_tvm.runtime.text.frontend.blocks import LOOKAHEAD, match_block, may_begin_block

__all__ = ["Passage", "split_passages"]

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
_LONGEST = 1500  # characters; a passage without an end of a sentence is cut here
_LONGEST_GAP = 4096  # characters of space that are waited through for what follows
_MOST_OPENING = 64  # quotes and brackets that are waited through for the letter after them
_UNFINISHED = re.compile(r"[^\W\d_]*(?:['’][^\W\d_]*)?")
_LONGEST_WORD = 32  # characters of the word after an abbreviation, and of what follows it


@dataclass(frozen=True)
class Passage:
    """Part of a text: without space at both ends, its first character's place, and what ends it.

    boundary: "end" where nothing but space follows in the text.
    """

    text: str
    start: int
    boundary: Boundary


def split_passages(portions: Iterable[str]) -> Iterator[Passage]:
    """Sentences of a text that comes in portions, each as soon as what is there of the text shows its end.

    A sentence of more than 1500 characters comes in parts.
    """
    reader = _PassageReader(iter(portions))
    while (passage := reader.read()) is not None:
        yield passage


class _PassageReader:
    """The text that has come and is not spoken yet."""

    def __init__(self, portions: Iterator[str]) -> None:
        self._portions = portions
        self._buffer = ""
        self._start = 0  # place of the buffer in the text
        self._ended = False
        self._breaks = (
            2  # line breaks before the buffer, two and more for a blank line; 0 once it is looked at
        )
        self._mark = 0  # length of the mark of a block that the buffer begins with
        self._one_line = False  # whether what is read is a block that ends with its line
        self._numbered = False  # whether it belongs to an item with a number

    def read(self) -> Passage | None:
        self._skip_space()
        if not self._buffer:
            return None
        while (end := self._end()) is None:
            if not self._more():
                self._ended = True
        return self._take(*end)

    def _end(self) -> tuple[int, Boundary] | None:
        """(length, boundary) of the first passage in the buffer; None where more has to come first."""
        buffer = self._buffer
        if self._breaks and not self._begin_line():
            return None
        for found in _END.finditer(buffer):
            if found.start() < self._mark:
                continue  # the point of "2. Second"
            length = found.start() + len(found["mark"] or "")
            if found.end() - found.start() > _LONGEST_GAP:
                return length, "paragraph"
            if found.start() > _LONGEST:
                break
            if found.end() == len(buffer) and not self._ended:
                return None
            boundary = self._boundary(found)
            if boundary is None:
                return None
            if boundary != "clause":
                return length, boundary
        # A blank line may have come by half: what is cut is what nothing that comes can change.
        if len(buffer) > 2 * _LONGEST or (self._ended and len(buffer) > _LONGEST):
            return self._forced(), "clause"
        return (len(buffer), "end") if self._ended else None

    def _boundary(self, found: re.Match[str]) -> Boundary | None:
        """What a match of _END is; "clause" where it ends nothing, None where more has to come first."""
        buffer = self._buffer
        if found.end() == len(buffer):
            return "end"
        if "\n" in found[0]:
            if not self._shows_block(found.end()):
                return None
            if self._one_line or match_block(buffer, found.end(), self._numbered):
                return "paragraph"
        after = found.end()
        while after < len(buffer) and buffer[after] in _OPENING and after < found.end() + _MOST_OPENING:
            after += 1
        if after == len(buffer) and not self._ended:
            return None
        first = buffer[after : after + 1]
        mark, gap = found["mark"], found["gap"]
        if _BLANK_LINE.search(found[0]):
            return "paragraph"
        if mark is None:
            return "clause"
        if mark[0] in _WIDE:
            goes_on = after == found.end() and not gap and _QUOTED_ON.match(mark[-1])
            return "clause" if goes_on and _HIRAGANA.match(first) else "sentence"
        if not gap:
            return "sentence" if mark[0] in "!?" and _WITHOUT_SPACES.match(first) else "clause"
        if first.islower():
            return "clause"
        before = buffer[max(0, found.start() - 20) : found.start()]
        abbreviation = find_abbreviation(before) if mark == "." else None
        if abbreviation is None:
            return "sentence"
        following = buffer[after : after + _LONGEST_WORD]
        if len(following) < _LONGEST_WORD and _UNFINISHED.fullmatch(following) and not self._ended:
            return None
        return "sentence" if is_sentence_start(following, abbreviation) else "clause"

    def _begin_line(self) -> bool:
        """Find what block the buffer begins; False where more has to come first."""
        if not self._shows_block(0):
            return False
        block = match_block(self._buffer, 0, self._numbered or self._breaks > 1)
        self._mark = block.end if block else 0
        self._one_line = block is not None and block.is_one_line
        if block or self._breaks > 1:
            self._numbered = block is not None and block.kind == "numbered"
        self._breaks = 0
        return True

    def _shows_block(self, place: int) -> bool:
        """Whether enough is there to know what block begins at a place."""
        rest = len(self._buffer) - place
        return self._ended or rest >= LOOKAHEAD or (rest > 0 and not may_begin_block(self._buffer[place]))

    def _forced(self) -> int:
        """Where a passage without an end is cut: after a mark of a clause, else at a space, else anywhere."""
        window = self._buffer[:_LONGEST]
        places = [found.end() for found in _CLAUSE.finditer(window, _LONGEST // 2)]
        if not places:
            places = [found.end() for found in re.finditer(r"\s+", window)]
        return places[-1] if places else _LONGEST

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
            if rest or not self._more():
                return

    def _more(self) -> bool:
        portion = next(self._portions, None)
        self._buffer += portion or ""
        return portion is not None
