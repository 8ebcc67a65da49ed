"""Divide a text into paragraphs and blocks of Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from kokoro_tvm.runtime.text.frontend.blocks import match_block
from kokoro_tvm.runtime.text.frontend.source import WORD, Edit, SourceText, skip_links

_LEAD = re.compile(r"(?:\s|>(?=[\s>]|$))*")  # with the marks of a quotation
_CELL = re.compile(r" ?\| ?")
_BOX = re.compile(r"\[[ xX]?\] ")
_NUMBER_END = re.compile(r"[.)]")
_HEADING_END = re.compile(r"(?<=\s)#{1,9}$")
_ONE_LINE = frozenset({"heading", "row", "fence", "rule"})


def split_paragraphs(source: SourceText) -> list[SourceText]:
    """Return the parts of a text that may be spoken.

    Blank lines and lines that begin a Markdown block separate parts. Whitespace becomes one space, and block
    marks are removed. A link has to lie within one line.
    """
    sources = []
    for part in _parts(source.text):
        words = (word.span() for line in part.lines for word in WORD.finditer(source.text, *line))
        sources.append(_without_marks(source.join_slices(words), part.kind))
    return [part for part in sources if part.is_speakable]


@dataclass
class _Part:
    """Lines of a paragraph, as slices of the text without block marks; kind: see `Block`, "" for none."""

    kind: str = ""
    lines: list[tuple[int, int]] = field(default_factory=list)


def _parts(text: str) -> Iterator[_Part]:
    part = _Part()
    for start, end in _lines(text):
        if start == end:
            yield part
            part = _Part()
            continue
        block = match_block(text, start, numbered=not part.lines or part.kind == "numbered")
        if block is not None or part.kind in _ONE_LINE:
            yield part
            part = _Part(block.kind if block else "")
        if block is not None and block.kind == "fence":
            continue
        begin = block.end if block is not None and block.kind != "numbered" else start
        part.lines.append((begin, end))
    yield part


def _lines(text: str) -> Iterator[tuple[int, int]]:
    """Yield the span of every line without indentation and quotation marks."""
    place = 0
    for line in text.split("\n"):
        end = place + len(line)
        lead = _LEAD.match(text, place, end)
        yield lead.end() if lead else place, end
        place = end + 1


def _without_marks(source: SourceText, kind: str) -> SourceText:
    """Remove the marks inside a part (cells, check boxes); a numbered item says its number."""
    text = source.text
    edits: list[Edit] = []
    if kind == "numbered" and (mark := _NUMBER_END.search(text)):
        edits = [Edit(*mark.span(), ":")]
    if kind == "heading" and (end := _HEADING_END.search(text)):
        edits = [Edit(*end.span(), "")]
    if kind == "item" and (box := _BOX.match(text)):
        edits = [Edit(*box.span(), "")]
    if kind == "row":
        edits = [Edit(*cell.span(), ", " if cell.end() < len(text) else "") for cell in _CELL.finditer(text)]
    return source.apply_edits(skip_links(edits, source.links))
