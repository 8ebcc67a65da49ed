"""HTML, parsed by lxml: the text of its blocks, a chapter for each heading of the first two levels."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from kokoro_tvm.common.errors import InputError
from kokoro_tvm.runtime.documents.readers.document import Document, decode_text, import_parser, omission
from kokoro_tvm.runtime.documents.readers.mathml import MathBuilder
from kokoro_tvm.runtime.documents.readers.page import BLOCKS, Page, PageBuilder

_SILENT = frozenset(
    {"script", "style", "template", "noscript", "svg", "math", "select", "textarea", "nav"}
    | {"rt", "rp"}  # the pronunciation above a word, which is read from the word
)
_HIDDEN = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
_DECLARATION = re.compile(
    r"""<\?xml[^<>]*\sencoding=["']([\w:.-]{1,40})|<meta\s[^<>]*charset=["']?([\w:.-]{1,40})"""
)
_DECLARATION_BYTES = 1024  # in which an encoding is declared
_ENCODINGS = re.compile(
    r"utf-?8|(?:us-)?ascii|iso-?8859-\d{1,2}|latin-?[1-9]|windows-125\d|cp\d{3,4}|koi8-[ru]|shift[_-]jis|"
    r"euc-(?:jp|kr)|iso-2022-jp|gb2312|gbk|gb18030|big5",
    re.ASCII,
)
_WESTERN = re.compile(r"(?:us-)?ascii|iso-?8859-1|latin-?1")  # browsers read them as Windows-1252
_CHUNK = 1 << 16  # characters; lxml builds no tree, so memory does not grow with the page


def read(data: bytes, path: Path) -> Document:
    """Read an HTML file; scripts, styles, navigation and hidden elements are skipped.

    Raises:
        InputError: the encoding is unknown or wrong, or lxml is not installed.
    """
    page = parse_page(decode_page(data, path), path)
    notes = tuple(filter(None, [omission(page.note_marks, "mark", "of notes")]))
    return Document(page.title or path.stem, page.chapters, notes=notes)


def decode_page(data: bytes, path: Path) -> str:
    """Decode a page in the encoding that it declares, else UTF-8; raises InputError."""
    declaration = _DECLARATION.search(data[:_DECLARATION_BYTES].decode("latin-1").lower())
    encoding = declaration[1] or declaration[2] if declaration else "utf-8"
    if encoding.startswith("utf-16"):
        encoding = "utf-8"  # as in browsers: a declaration in ASCII is not UTF-16
    if not _ENCODINGS.fullmatch(encoding):
        raise InputError(
            f"{path} declares the encoding {encoding}, which is not read. Convert it to UTF-8 first."
        )
    return decode_text(data, path, "cp1252" if _WESTERN.fullmatch(encoding) else encoding)


def parse_page(source: str, path: Path) -> Page:
    """Return the text of a page's source."""
    etree = import_parser("lxml.etree", path)
    builder = _HtmlBuilder()
    parser = etree.HTMLParser(target=builder, encoding="utf-8")
    parser.feed(b"<html>")  # libxml2 fails on an empty document
    for start in range(0, len(source), _CHUNK):
        parser.feed(source[start : start + _CHUNK].encode())
    page: Page = parser.close()
    return page


class _HtmlBuilder(PageBuilder):
    """The target of lxml's parser, which closes every element that it opens."""

    def __init__(self) -> None:
        super().__init__()
        self._silent_depth = 0  # open elements from the outermost one that is not read
        self._math: MathBuilder | None = None  # the open formula

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        tag = tag.rpartition(":")[2] if tag.endswith(":math") else tag
        if self._silent_depth:
            self._silent_depth += 1
            if self._math is not None:
                self._math.start(tag.rpartition(":")[2], attributes)
            return
        is_note = attributes.get("epub:type") == "noteref" or attributes.get("role") == "doc-noteref"
        if is_note or tag in _SILENT or _is_hidden(attributes):
            self._silent_depth = 1
            if tag == "math" and (formula := attributes.get("alttext")):
                super().data(f" ${formula}$ ")
            elif tag == "math":
                self._math = MathBuilder()
            self.note_marks += is_note
            if tag in BLOCKS:
                self.end_paragraph()
        else:
            super().start(tag, attributes)

    def end(self, tag: str) -> None:
        if self._silent_depth:
            self._silent_depth -= 1
            self._end_in_formula()
        else:
            super().end(tag)

    def _end_in_formula(self) -> None:
        if self._math is not None and self._silent_depth:
            self._math.end()
        elif self._math is not None:
            if formula := self._math.build():
                super().data(f" ${formula}$ ")
            self._math = None

    def data(self, text: str) -> None:
        if self._math is not None:
            self._math.data(text)
        elif not self._silent_depth:
            super().data(text)

    def close(self) -> Page:
        return self.build()


def _is_hidden(attributes: Mapping[str, str]) -> bool:
    return (
        "hidden" in attributes
        or attributes.get("aria-hidden") == "true"
        or _HIDDEN.search(attributes.get("style", "")) is not None
    )
