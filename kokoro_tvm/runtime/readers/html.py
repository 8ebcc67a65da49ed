"""HTML: the text of its blocks, a chapter for each heading of the first two levels."""

from __future__ import annotations

import re
from html.parser import HTMLParser
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


def read(data: bytes, path: Path) -> Document:
    """The text of an HTML file; scripts, styles and navigation are left out. Raises InputError."""
    title, chapters = chapters_of_html(decoded(data, path))
    return Document(title or path.stem, tuple(chapters))


def chapters_of_html(source: str) -> tuple[str, list[Chapter]]:
    """(title, chapters) of a page; without headings, one chapter without a title."""
    page = _Page()
    page.feed(source)
    page.close()
    return " ".join(page.title.split()), page.finish()


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.title = ""
        self._chapters: list[Chapter] = []
        self._heading = ""  # of the chapter that is read
        self._blocks: list[str] = []
        self._block = ""
        self._silent: list[str] = []
        self._in_title = False
        self._in_heading = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._in_title = tag == "title" and "svg" not in self._silent
        if tag in _SILENT:
            self._silent.append(tag)
        elif tag == "br":
            self._block += "\n"
        elif tag in _CELLS and self._block.strip():
            self._block = self._block.rstrip() + ", "
        elif tag in _BLOCKS:
            self._end_block()
            self._in_heading = tag in _HEADINGS

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in _SILENT:
            self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        self._in_title = False
        if tag in self._silent:
            while self._silent.pop() != tag:
                pass
        elif tag == "body":
            self._silent.clear()
        if tag in _BLOCKS:
            self._end_block()

    def handle_data(self, data: str) -> None:
        if self._in_title and not self._chapters and not self._blocks:
            self.title += data
        elif not self._silent:
            self._block += re.sub(r"\s+", " ", data)

    def finish(self) -> list[Chapter]:
        self._end_block()
        self._end_chapter()
        return self._chapters

    def _end_block(self) -> None:
        lines = [" ".join(line.split()) for line in self._block.split("\n")]
        block = "\n".join(line for line in lines if line)
        self._block = ""
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
