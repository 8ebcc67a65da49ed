"""HTML: the text of its blocks, a chapter for each heading of the first two levels."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from html import unescape
from pathlib import Path

from kokoro_tvm.common.errors import InputError
from kokoro_tvm.runtime.documents.readers.document import Chapter, Document, decoded, left_out

__all__ = ["ELEMENTS", "Page", "decoded_page", "page_of", "read"]

_BLOCKS = frozenset(
    {"address", "article", "aside", "blockquote", "body", "caption", "dd", "div", "dl", "dt", "fieldset"}
    | {"figcaption", "figure", "footer", "form", "header", "hr", "li", "main", "ol", "p", "pre", "section"}
    | {"table", "tbody", "thead", "tr", "ul", "h1", "h2", "h3", "h4", "h5", "h6"}
)
_SILENT = frozenset(
    {"script", "style", "template", "noscript", "svg", "math", "select", "textarea", "head", "nav"}
    | {"rt", "rp"}  # what stands above a word is its sound once more
)
_OF_HEAD = frozenset({"base", "head", "link", "meta", "noscript", "script", "style", "template", "title"})
_VOID = frozenset(
    {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "wbr"}
)
_CELLS = frozenset({"td", "th"})
_UNENDED = frozenset({"a", "dd", "dt", "li", "p", "rp", "rt", "td", "th", "tr"})  # the block around ends them
_HEADINGS = frozenset({"h1", "h2"})
ELEMENTS = frozenset(
    {*_BLOCKS, *_SILENT, *_OF_HEAD, *_VOID, *_CELLS}
    | {"a", "abbr", "b", "bdi", "bdo", "big", "center", "cite", "code", "del", "details", "dfn", "em", "font"}
    | {"html", "i", "ins", "kbd", "label", "mark", "q", "rb", "ruby", "s", "samp", "small", "span", "strike"}
    | {"strong", "sub", "summary", "sup", "tfoot", "time", "tt", "u", "var"}
)
"""Names of elements."""

_CELL = "\x1f"  # is space, so that no text has it
_ATTRIBUTES = r"""(?:[^>=]|=(?!\s*["'])|=\s*(?:"[^"]*(?:"|\Z)|'[^']*(?:'|\Z)))*"""
# What begins ends with the text at the latest, as in browsers: so it is looked at once. The parser of the
# standard library takes quadratic time for tags without an end.
_MARKUP = re.compile(
    rf"<!--.*?(?:-->|\Z)"
    rf"|<(?P<raw>script|style)(?=[\s>]){_ATTRIBUTES}(?<!/)>.*?(?:(?=</(?P=raw))|\Z)"
    rf"|<(?P<end>/?)(?P<name>[a-z][^\s/>]*)(?P<attributes>{_ATTRIBUTES})(?:>|\Z)"
    r"|<[!?/][^>]*(?:>|\Z)",
    re.IGNORECASE | re.DOTALL,
)
_ATTRIBUTE = re.compile(r"""([^\s"'=/>]+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+)))?""")
_UNSEEN = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
_HUGE = re.compile(r"&#(?:[0-9]{8,}|[xX][0-9a-fA-F]{7,});?")  # no character has such a number
_DECLARED = re.compile(
    r"""<\?xml[^<>]*\sencoding=["']([\w:.-]{1,40})|<meta\s[^<>]*charset=["']?([\w:.-]{1,40})"""
)
_CHARSET = re.compile(
    r"utf-?8|(?:us-)?ascii|iso-?8859-\d{1,2}|latin-?[1-9]|windows-125\d|cp\d{3,4}|koi8-[ru]|shift[_-]jis|"
    r"euc-(?:jp|kr)|iso-2022-jp|gb2312|gbk|gb18030|big5",
    re.ASCII,
)
_WESTERN = re.compile(r"(?:us-)?ascii|iso-?8859-1|latin-?1")  # which browsers read as what contains it
_HEAD_BYTES = 1024  # in which an encoding is declared
_MARK = re.compile(r"\[?\d{1,4}\]?|\[?[a-z]\]|[*†‡§¶]+")  # of a note
_POWER = re.compile(r"(?:\d|\b[^\W\d]|\b[cdkm]m|\b(?:ft|in|mi|yd))\Z")  # what a raised number is a power of
_RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclass(frozen=True)
class Page:
    """marks: how many marks of notes were left out."""

    title: str
    chapters: tuple[Chapter, ...]
    marks: int


def read(data: bytes, path: Path) -> Document:
    """The text of an HTML file; scripts, styles, navigation and what is hidden are left out, and marks of
    notes with a note. Raises InputError."""
    page = page_of(decoded_page(data, path))
    notes = tuple(filter(None, [left_out(page.marks, "mark", "of notes")]))
    return Document(page.title or path.stem, page.chapters, notes=notes)


def decoded_page(data: bytes, path: Path) -> str:
    """The source of a page, in the encoding that it declares, else UTF-8; raises InputError."""
    found = _DECLARED.search(data[:_HEAD_BYTES].decode("latin-1").lower())
    name = found[1] or found[2] if found else "utf-8"
    if name.startswith("utf-16"):
        name = "utf-8"  # as in browsers: what declares it in ASCII is not UTF-16
    if not _CHARSET.fullmatch(name):
        raise InputError(
            f"{path} declares the encoding {name}, which is not read. Convert it to UTF-8 first."
        )
    return decoded(data, path, "cp1252" if _WESTERN.fullmatch(name) else name)


def page_of(source: str) -> Page:
    """What is read of a page; without headings, one chapter without a title."""
    page = _PageBuilder()
    place = 0
    for found in _MARKUP.finditer(source):
        page.add_text(source[place : found.start()])
        if name := (found["name"] or "").lower():
            if found["end"]:
                page.end(name)
            else:
                page.start(name, found["attributes"])
        place = found.end()
    page.add_text(source[place:])
    return page.finish()


class _PageBuilder:
    def __init__(self) -> None:
        self._title: list[str] = []
        self._chapters: list[Chapter] = []
        self._headings: list[str] = []  # of the chapter that is read
        self._blocks: list[str] = []
        self._block: list[str] = []
        self._silent: list[str] = []  # elements that are open and not read, and the blocks in them
        self._open: Counter[str] = Counter()  # how often each is in _silent
        self._lists: list[int | None] = []  # the number of the next item; None where items have none
        self._number = ""  # of the item whose first block is read
        self._raised: int | None = None  # where a raised text begins in the block
        self._marks = 0
        self._in_title = False
        self._in_heading = False

    def start(self, tag: str, source: str) -> None:
        self._in_title = tag == "title" and not self._open["svg"]
        if self._silent == ["head"] and tag not in _OF_HEAD:
            self.end("head")
        self._end_unended(tag)
        attributes = _attributes(source)
        mark = attributes.get("epub:type") == "noteref" or attributes.get("role") == "doc-noteref"
        if tag in _SILENT or mark or _is_hidden(attributes) or (self._silent and tag in _BLOCKS | _CELLS):
            if not self._silent:
                self._marks += mark
                if tag in _BLOCKS:
                    self._end_block()
            if tag not in _VOID and not source.endswith("/"):
                self._silent.append(tag)
                self._open[tag] += 1
        elif tag == "br":
            self._block.append("\n")
        elif tag in _CELLS:
            self._block.append(_CELL)
        elif tag == "sup":
            self._raised = len(self._block)
        elif tag in _BLOCKS:
            self._end_block()
            self._in_heading = tag in _HEADINGS
            self._start_list(tag, attributes)

    def _end_unended(self, tag: str) -> None:
        """What is not read ends where HTML ends it by what begins."""
        last = self._silent[-1] if self._silent else ""
        ended_by = (
            _BLOCKS if last == "p" else {"rt", "rp", "rb", *_BLOCKS} if last in ("rt", "rp") else {last}
        )
        if last in _UNENDED and tag in ended_by:
            self.end(last)

    def _start_list(self, tag: str, attributes: dict[str, str]) -> None:
        if tag in ("ol", "ul"):
            self._lists.append(_whole(attributes.get("start"), 1) if tag == "ol" else None)
        if tag == "li" and self._lists and (number := self._lists[-1]) is not None:
            number = _whole(attributes.get("value"), number)
            self._number, self._lists[-1] = f"{number}. ", number + 1

    def end(self, tag: str) -> None:
        self._in_title = False
        if self._silent and not self._open[tag] and (tag in _BLOCKS or tag == "ruby"):
            while self._silent and self._silent[-1] in _UNENDED:
                self._open[self._silent.pop()] -= 1
        while self._open[tag] or (tag == "body" and self._silent):
            closed = self._silent.pop()
            self._open[closed] -= 1
            if closed == tag:
                return
        if self._silent:
            return
        if tag == "sup" and self._raised is not None:
            self._end_raised(self._raised)
        if tag in _BLOCKS:
            self._end_block()
        if tag in ("ol", "ul") and self._lists:
            self._lists.pop()
        if tag in ("ol", "ul", "li"):
            self._number = ""

    def _end_raised(self, start: int) -> None:
        """A raised number is a power after a digit, a letter alone or a unit, and the mark of a note after
        other words; all else is a part of its word ("1st")."""
        text = "".join(self._block[start:]).strip()
        before = self._block[start - 1][-4:] if start else ""
        if text.isdecimal() and _POWER.search(before):
            self._block[start:] = [text.translate(_RAISED)]
        elif _MARK.fullmatch(text):
            self._block[start:] = []
            self._marks += 1
        self._raised = None

    def add_text(self, source: str) -> None:
        text = unescape(_HUGE.sub("\ufffd", source))
        if self._in_title and not self._chapters and not self._blocks:
            self._title.append(text)
            return
        if self._silent == ["head"] and text.strip():
            self.end("head")
        if text and not self._silent:
            self._block.append(re.sub(r"\s+", " ", text))

    def finish(self) -> Page:
        self._end_block()
        self._end_chapter()
        title = " ".join("".join(self._title).split())
        return Page(title, tuple(self._chapters), self._marks)

    def _end_block(self) -> None:
        cells = (line.split(_CELL) for line in "".join(self._block).split("\n"))
        words = ([" ".join(cell.split()) for cell in line] for line in cells)
        block = "\n".join(line for each in words if (line := ", ".join(filter(None, each))))
        self._block, self._raised = [], None
        if block and self._in_heading:
            if len(self._blocks) > len(self._headings):
                self._end_chapter()  # a heading below a heading belongs to the same chapter
            self._headings.append(" ".join(block.split()))
        self._in_heading = False
        if block:
            self._blocks.append(self._number + block)
            self._number = ""

    def _end_chapter(self) -> None:
        if self._blocks:
            self._chapters.append(Chapter(". ".join(self._headings), "\n\n".join(self._blocks)))
        self._blocks = []
        self._headings = []


def _attributes(source: str) -> dict[str, str]:
    found = _ATTRIBUTE.findall(source)
    return {
        name.lower(): unescape(double or single or bare) for name, double, single, bare in reversed(found)
    }


def _is_hidden(attributes: dict[str, str]) -> bool:
    return (
        "hidden" in attributes
        or attributes.get("aria-hidden") == "true"
        or _UNSEEN.search(attributes.get("style", "")) is not None
    )


def _whole(written: str | None, otherwise: int) -> int:
    return int(written) if re.fullmatch(r"[0-9]{1,9}", written or "") and written else otherwise
