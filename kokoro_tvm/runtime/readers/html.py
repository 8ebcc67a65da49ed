"""HTML: the text of its blocks, a chapter for each heading of the first two levels."""

from __future__ import annotations

import re
from collections import Counter
from html import unescape
from pathlib import Path

from kokoro_tvm.runtime.readers.document import Chapter, Document, decoded

__all__ = ["chapters_of_html", "read"]

_BLOCKS = frozenset(
    {"address", "article", "aside", "blockquote", "body", "caption", "dd", "div", "dl", "dt", "fieldset"}
    | {"figcaption", "figure", "footer", "form", "header", "hr", "li", "main", "ol", "p", "pre", "section"}
    | {"table", "tbody", "thead", "tr", "ul", "h1", "h2", "h3", "h4", "h5", "h6"}
)
_SILENT = frozenset(
    {"script", "style", "template", "noscript", "svg", "math", "select", "textarea", "head", "nav"}
)
_CELLS = frozenset({"td", "th"})
_HEADINGS = frozenset({"h1", "h2"})
_CELL = "\x1f"  # is space, so that no text has it
_ATTRIBUTES = r"""(?:[^>=]|=(?!\s*["'])|=\s*(?:"[^"]*(?:"|\Z)|'[^']*(?:'|\Z)))*"""
# What begins ends with the text at the latest, as in browsers: so it is looked at once. The parser of the
# standard library takes quadratic time for tags without an end.
_MARKUP = re.compile(
    rf"<!--.*?(?:-->|\Z)"
    rf"|<(?P<raw>script|style)(?=[\s>]){_ATTRIBUTES}(?<!/)>.*?(?:(?=</(?P=raw))|\Z)"
    rf"|<(?P<end>/?)(?P<name>[a-z][^\s/>]*){_ATTRIBUTES}(?:>|\Z)"
    r"|<[!?/][^>]*(?:>|\Z)",
    re.IGNORECASE | re.DOTALL,
)
_HUGE = re.compile(r"&#(?:[0-9]{8,}|[xX][0-9a-fA-F]{7,});?")  # no character has such a number


def read(data: bytes, path: Path) -> Document:
    """The text of an HTML file; scripts, styles and navigation are left out. Raises InputError."""
    title, chapters = chapters_of_html(decoded(data, path))
    return Document(title or path.stem, tuple(chapters))


def chapters_of_html(source: str) -> tuple[str, list[Chapter]]:
    """(title, chapters) of a page; without headings, one chapter without a title."""
    page = _Page()
    place = 0
    for found in _MARKUP.finditer(source):
        page.add_text(source[place : found.start()])
        if name := (found["name"] or "").lower():
            if found["end"]:
                page.end(name)
            elif name not in _SILENT or not found[0].endswith("/>"):
                page.start(name)
        place = found.end()
    page.add_text(source[place:])
    return " ".join("".join(page.title).split()), page.finish()


class _Page:
    def __init__(self) -> None:
        self.title: list[str] = []
        self._chapters: list[Chapter] = []
        self._heading = ""  # of the chapter that is read
        self._blocks: list[str] = []
        self._block: list[str] = []
        self._silent: list[str] = []  # elements that are open and not read
        self._open: Counter[str] = Counter()  # how often each is in _silent
        self._in_title = False
        self._in_heading = False

    def start(self, tag: str) -> None:
        self._in_title = tag == "title" and not self._open["svg"]
        if tag in _SILENT:
            self._silent.append(tag)
            self._open[tag] += 1
        elif tag == "br":
            self._block.append("\n")
        elif tag in _CELLS:
            self._block.append(_CELL)
        elif tag in _BLOCKS:
            self._end_block()
            self._in_heading = tag in _HEADINGS

    def end(self, tag: str) -> None:
        self._in_title = False
        while self._open[tag] or (tag == "body" and self._silent):
            closed = self._silent.pop()
            self._open[closed] -= 1
            if closed == tag:
                break
        if tag in _BLOCKS:
            self._end_block()

    def add_text(self, source: str) -> None:
        text = unescape(_HUGE.sub("\ufffd", source))
        if self._in_title and not self._chapters and not self._blocks:
            self.title.append(text)
        elif not self._silent:
            self._block.append(re.sub(r"\s+", " ", text))

    def finish(self) -> list[Chapter]:
        self._end_block()
        self._end_chapter()
        return self._chapters

    def _end_block(self) -> None:
        cells = (line.split(_CELL) for line in "".join(self._block).split("\n"))
        words = ([" ".join(cell.split()) for cell in line] for line in cells)
        block = "\n".join(line for each in words if (line := ", ".join(filter(None, each))))
        self._block = []
        if block and self._in_heading:
            self._end_chapter()
            self._heading = " ".join(block.split())
        self._in_heading = False
        if block:
            self._blocks.append(block)

    def _end_chapter(self) -> None:
        if self._blocks:
            self._chapters.append(Chapter(self._heading, "\n\n".join(self._blocks)))
        self._blocks = []
        self._heading = ""
