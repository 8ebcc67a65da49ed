"""PDF, parsed by pypdf: lines joined to paragraphs; bookmarks of the first level begin chapters."""

from __future__ import annotations

import io
import itertools
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kokoro_tvm.common.errors import InputError
from kokoro_tvm.runtime.documents.readers.document import Chapter, Document, import_parser, omission

_MAX_PAGES = 5000
_BULLETS = ("•", "◦", "▪", "‣", "·", "●", "–  ")
_SENTENCE_END = re.compile(r"[.!?:…。！？][\"'”’»)\]]*\Z")
_PAGE_NUMBER = re.compile(r"[-–— ]*(?:\d{1,4}|[ivxlc]{1,8})[-–— ]*", re.IGNORECASE)
_LIGATURES = str.maketrans(
    {"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "ﬅ": "st", "ﬆ": "st", "\u00ad": "-"}
)
_EDGE_LINES = 2  # at the top and at the bottom of a page, which may repeat on every page
_MIN_REPETITIONS = 2
# A gap, an indentation and a difference of size that begin a paragraph, relative to the usual ones.
_GAP, _INDENT, _SIZE = 1.3, 0.8, 0.1


@dataclass(frozen=True)
class _Line:
    """A line of a page: its text, the place at which it begins and the size of most of it, in points."""

    text: str
    x: float
    y: float
    size: float


def read(data: bytes, path: Path) -> Document:
    """Read a PDF in the order of its content streams; page numbers and running titles are left out.

    Raises:
        InputError: the file is no PDF, is encrypted, has no text or too many pages, or pypdf is missing.
    """
    pypdf = import_parser("pypdf", path)
    try:
        reader = pypdf.PdfReader(io.BytesIO(data))
        if reader.is_encrypted and not reader.decrypt(""):
            raise InputError(f"{path} is encrypted with a password. Save it without one first.")
        if len(reader.pages) > _MAX_PAGES:
            raise InputError(
                f"{path} has {len(reader.pages)} pages; at most {_MAX_PAGES} are read. Split it."
            )
        pages = [_read_lines(page) for page in reader.pages]
        bookmarks = _find_bookmarks(reader)
        title, author = (
            str(getattr(reader.metadata, name, None) or "").strip() for name in ("title", "author")
        )
    except pypdf.errors.PyPdfError as error:
        raise InputError(f"{path} is no PDF, or damaged ({error}). Save or convert it again.") from error
    if not any(pages):
        raise InputError(
            f"{path} has no text, only pictures of it. Recognise the text first, as ocrmypdf does."
        )
    repeated = _find_repeated(pages)
    chapters: list[tuple[str, list[str]]] = [("", [])]
    previous: _Line | None = None
    omitted = 0
    for number, lines in enumerate(pages):
        body = _strip_edges(lines, repeated)
        omitted += len(lines) - len(body)
        gap = _usual_gap(body)
        starts = {_index_at(body, top): name for page, top, name in bookmarks if page == number}
        for index, line in enumerate(body):
            if index in starts:
                chapters.append((starts[index], []))
            paragraphs = chapters[-1][1]
            if previous is None or not paragraphs or _begins_paragraph(previous, line, gap, index == 0):
                paragraphs.append(line.text.lstrip("".join(_BULLETS)).strip())
            else:
                paragraphs[-1] = _join(paragraphs[-1], line.text)
            previous = line
    parts = tuple(Chapter(name, "\n\n".join(paragraphs)) for name, paragraphs in chapters if paragraphs)
    notes = tuple(filter(None, [omission(omitted, "line", "at the top or the bottom of pages")]))
    return Document(title or path.stem, parts, notes=notes, author=author)


def _read_lines(page: Any) -> list[_Line]:
    lines: list[_Line] = []
    parts: list[_Line] = []  # of the current line

    def end_line() -> None:
        text = " ".join("".join(part.text for part in parts).split())
        if text:
            longest = max(parts, key=lambda part: len(part.text))
            first = next(part for part in parts if part.text.strip())
            lines.append(_Line(text, first.x, first.y, longest.size))
        parts.clear()

    def visit(text: str, cm: Sequence[float], tm: Sequence[float], font: object, size: float) -> None:
        x, y = tm[4] * cm[0] + tm[5] * cm[2] + cm[4], tm[4] * cm[1] + tm[5] * cm[3] + cm[5]
        scale = abs(tm[3] * cm[3]) or 1.0
        for index, part in enumerate(text.translate(_LIGATURES).split("\n")):
            if index:
                end_line()
            if part:
                parts.append(_Line(part, x, y, size * scale))

    page.extract_text(visitor_text=visit)
    end_line()
    return lines


def _find_bookmarks(reader: Any) -> list[tuple[int, float | None, str]]:
    """Return page, height in points and title of the bookmarks of the first level that has several."""
    level = reader.outline
    while len(level) == 2 and isinstance(level[1], list):  # one for the whole book, with others below it
        level = level[1]
    bookmarks = [entry for entry in level if not isinstance(entry, list)]
    pages = (reader.get_destination_page_number(entry) for entry in bookmarks)
    return [
        (page, float(entry.top) if isinstance(entry.top, (int, float)) else None, str(entry.title).strip())
        for page, entry in zip(pages, bookmarks, strict=True)
        if page is not None
    ]


def _index_at(lines: Sequence[_Line], top: float | None) -> int:
    """Return the index of the first line below a height."""
    return next((index for index, line in enumerate(lines) if top is None or line.y <= top), 0)


def _find_repeated(pages: Iterable[Sequence[_Line]]) -> frozenset[str]:
    """Return the lines that begin or end several pages, with their digits replaced."""
    counts = Counter(
        key
        for lines in pages
        for key in {_without_digits(line) for line in (*lines[:_EDGE_LINES], *lines[-_EDGE_LINES:])}
    )
    return frozenset(key for key, count in counts.items() if count >= _MIN_REPETITIONS)


def _strip_edges(lines: Sequence[_Line], repeated: frozenset[str]) -> Sequence[_Line]:
    def is_margin(line: _Line) -> bool:
        return _PAGE_NUMBER.fullmatch(line.text) is not None or _without_digits(line) in repeated

    for _ in range(_EDGE_LINES):
        lines = lines[1:] if lines and is_margin(lines[0]) else lines
        lines = lines[:-1] if lines and is_margin(lines[-1]) else lines
    return lines


def _without_digits(line: _Line) -> str:
    return re.sub(r"\d+", "#", line.text)


def _usual_gap(lines: Sequence[_Line]) -> float:
    """Return the lower quartile of the distances between lines: those within a paragraph."""
    gaps = [first.y - second.y for first, second in itertools.pairwise(lines)]
    positive = sorted(gap for gap in gaps if gap > 0)
    return positive[len(positive) // 4] if positive else 0.0


def _begins_paragraph(previous: _Line, line: _Line, usual_gap: float, is_first_of_page: bool) -> bool:
    if line.text.startswith(_BULLETS) or abs(line.size - previous.size) > _SIZE * previous.size:
        return True
    ended = _SENTENCE_END.search(previous.text) is not None
    if is_first_of_page or line.y > previous.y:  # of a column
        return ended
    return previous.y - line.y > _GAP * usual_gap or (ended and line.x - previous.x > _INDENT * line.size)


def _join(paragraph: str, line: str) -> str:
    """Append a line, without the hyphen of a divided word."""
    if re.search(r"[^\W\d_]-\Z", paragraph) and line[:1].islower():
        return paragraph[:-1] + line
    return f"{paragraph} {line}"
