"""Texts that remember where their characters come from."""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ["SourceText", "paragraphs"]

_BLANK_LINE = re.compile(r"\n[ \t\r]*\n")


@dataclass(frozen=True)
class SourceText:
    """A text as it is to be read, and for every character of it the slice of the source that it stands for.

    starts, ends: places in the source, as many as `text` has characters. A normaliser takes one and gives
    another; what stands for several characters (or for none) says so in them.
    """

    text: str
    starts: tuple[int, ...]
    ends: tuple[int, ...]

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Where the characters from `start` to `end` (one at least) come from."""
        return self.starts[start], max(self.ends[start:end])


def paragraphs(text: str) -> list[SourceText]:
    """Parts of the text between blank lines that hold a letter or digit, with every run of whitespace as one
    space (wrapped lines read on)."""
    found = []
    start = 0
    for end, following in (*((m.start(), m.end()) for m in _BLANK_LINE.finditer(text)), (len(text), 0)):
        part = _in_one_line(text, start, end)
        if any(map(str.isalnum, part.text)):
            found.append(part)
        start = following
    return found


def _in_one_line(text: str, start: int, end: int) -> SourceText:
    chars: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    for match in re.compile(r"\S+").finditer(text, start, end):
        if chars:
            chars.append(" ")
            starts.append(ends[-1])
            ends.append(match.start())
        chars.append(match.group())
        starts += range(match.start(), match.end())
        ends += range(match.start() + 1, match.end() + 1)
    return SourceText("".join(chars), tuple(starts), tuple(ends))
