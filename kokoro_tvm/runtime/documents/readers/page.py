"""Paragraphs and chapters from the elements of a page, as HTML names them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from kokoro_tvm.runtime.documents.readers.document import Chapter
from kokoro_tvm.runtime.text.markup.formulas import RAISED

BLOCKS = frozenset(
    {"address", "article", "aside", "blockquote", "body", "caption", "dd", "div", "dl", "dt", "fieldset"}
    | {"figcaption", "figure", "footer", "form", "header", "hr", "li", "main", "ol", "p", "pre", "section"}
    | {"table", "tbody", "tfoot", "thead", "tr", "ul", "h1", "h2", "h3", "h4", "h5", "h6"}
)
"""Elements that begin and end a paragraph."""

_HEADINGS = frozenset({"h1", "h2"})
_CELLS = frozenset({"td", "th"})
_CELL = "\x1f"  # white space, which no text contains after it was normalized
_NOTE_MARK = re.compile(r"\[?\d{1,4}\]?|\[?[a-z]\]|[*†‡§¶]+")
# A figure, a letter, a product (mc) or a unit.
_BEFORE_POWER = re.compile(r"(?:\d|\b[^\W\d]|\b[b-df-hj-np-tvwxz]{2}|\b(?:in|mi|yd))\Z")


@dataclass(frozen=True)
class Page:
    """A page's title, its chapters, and how many marks of notes were left out."""

    title: str
    chapters: tuple[Chapter, ...]
    note_marks: int


class PageBuilder:
    """Collects the text of elements in document order; a heading of level 1 or 2 begins a chapter."""

    def __init__(self) -> None:
        self.note_marks = 0
        self._title: list[str] = []
        self._chapters: list[Chapter] = []
        self._headings: list[str] = []  # of the current chapter
        self._paragraphs: list[str] = []  # of the current chapter
        self._parts: list[str] = []  # of the current paragraph
        self._lists: list[int | None] = []  # the next item's number per open list; None if bulleted
        self._number = ""  # of an item whose first paragraph has not ended yet
        self._superscript: int | None = None  # index in `_parts` at which it begins
        self._in_title = False
        self._in_heading = False

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        """Open an element; elements without a meaning for speech are ignored."""
        if tag == "title":
            self._in_title = True
        elif tag == "br":
            self._parts.append("\n")
        elif tag in _CELLS:
            self._parts.append(_CELL)
        elif tag == "sup":
            self._superscript = len(self._parts)
        elif tag in BLOCKS:
            self.end_paragraph()
            self._in_heading = tag in _HEADINGS
            if tag in ("ol", "ul"):
                self._lists.append(_to_int(attributes.get("start"), 1) if tag == "ol" else None)
            elif tag == "li" and self._lists and (number := self._lists[-1]) is not None:
                number = _to_int(attributes.get("value"), number)
                self._number, self._lists[-1] = f"{number}. ", number + 1

    def end(self, tag: str) -> None:
        """Close an element."""
        if tag == "title":
            self._in_title = False
        elif tag == "sup" and self._superscript is not None:
            self._end_superscript(self._superscript)
        elif tag in BLOCKS:
            self.end_paragraph()
            if tag in ("ol", "ul") and self._lists:
                self._lists.pop()
            if tag in ("ol", "ul", "li"):
                self._number = ""

    def data(self, text: str) -> None:
        """Add text, whose white space is not significant."""
        if not self._in_title:
            self._parts.append(re.sub(r"\s+", " ", text))
        elif not (self._chapters or self._paragraphs):
            self._title.append(text)

    def end_paragraph(self) -> None:
        """End the current paragraph, if it has text."""
        lines = []
        for line in "".join(self._parts).split("\n"):
            cells = (" ".join(cell.split()) for cell in line.split(_CELL))
            lines.append(", ".join(filter(None, cells)))
        paragraph = "\n".join(filter(None, lines))
        self._parts, self._superscript = [], None
        if paragraph and self._in_heading:
            if len(self._paragraphs) > len(self._headings):
                self._end_chapter()  # a heading directly below a heading belongs to the same chapter
            self._headings.append(" ".join(paragraph.split()))
        self._in_heading = False
        if paragraph:
            self._paragraphs.append(self._number + paragraph)
            self._number = ""

    def build(self) -> Page:
        """Return the page; without headings, it is one chapter without a title."""
        self.end_paragraph()
        self._end_chapter()
        return Page(" ".join("".join(self._title).split()), tuple(self._chapters), self.note_marks)

    def _end_superscript(self, start: int) -> None:
        # A number is a power after a digit, a single letter or a unit, and the mark of a note after other
        # words; anything else is a part of its word ("1st").
        text = "".join(self._parts[start:]).strip()
        before = self._parts[start - 1][-4:] if start else ""
        if text.isdecimal() and _BEFORE_POWER.search(before):
            self._parts[start:] = [text.translate(RAISED)]
        elif _NOTE_MARK.fullmatch(text):
            self._parts[start:] = []
            self.note_marks += 1
        self._superscript = None

    def _end_chapter(self) -> None:
        if self._paragraphs:
            self._chapters.append(Chapter(". ".join(self._headings), "\n\n".join(self._paragraphs)))
        self._paragraphs, self._headings = [], []


def _to_int(text: str | None, default: int) -> int:
    return int(text) if text and re.fullmatch(r"[0-9]{1,9}", text) else default
