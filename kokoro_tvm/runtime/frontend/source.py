"""Texts that remember where their characters come from, and what was asked for them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from kokoro_tvm.runtime.frontend.blocks import block_at
from kokoro_tvm.runtime.frontend.pictures import has_words

__all__ = ["Edit", "Link", "SourceText", "paragraphs"]

_LEAD = re.compile(r"(?:\s|>(?=[\s>]|$))*")  # with the marks of a quotation
_WORD = re.compile(r"\S+")
_CELL = re.compile(r" ?\| ?")
_BOX = re.compile(r"\[[ xX]?\] ")
_ONE_LINE = frozenset({"heading", "row", "fence", "rule"})


@dataclass(frozen=True)
class Link:
    """How the characters from start to end are to be spoken: by their phonemes, with another stress (see
    `restress`), or with flags of a number (see `Figures`)."""

    start: int
    end: int
    phonemes: str | None = None
    stress: float | None = None
    flags: str = ""


@dataclass(frozen=True)
class Edit:
    """Other characters in the place of those from start to end; both alike insert."""

    start: int
    end: int
    text: str


@dataclass(frozen=True)
class SourceText:
    """A text as it is to be read, and for every character of it the slice of the source that it stands for.

    starts, ends: places in the source, as many as `text` has characters; links: in the order of their places,
    which are places in `text`.
    """

    text: str
    starts: tuple[int, ...]
    ends: tuple[int, ...]
    links: tuple[Link, ...] = ()

    @classmethod
    def of(cls, text: str) -> SourceText:
        """A text that is its own source."""
        return cls(text, tuple(range(len(text))), tuple(range(1, len(text) + 1)))

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Where the characters from `start` to `end` (one at least) come from."""
        return self.starts[start], max(self.ends[start:end])

    def edited(self, edits: Iterable[Edit]) -> SourceText:
        """The text after edits, which are in order and do not overlap each other; all of what is put in
        stands for all of what it replaces.

        A link keeps what it spans. Raises ValueError for an edit of a link, and for edits in disorder.
        """
        parts: list[str] = []
        starts: list[int] = []
        ends: list[int] = []
        moved = [0] * (len(self.text) + 1)  # place in the text -> place in the edited text
        done = passed = 0

        def keep(until: int) -> None:
            for place in range(done, until):
                moved[place] = len(starts) + place - done
            parts.append(self.text[done:until])
            starts.extend(self.starts[done:until])
            ends.extend(self.ends[done:until])

        for edit in edits:
            if not done <= edit.start <= edit.end <= len(self.text):
                raise ValueError(f"{edit} is not behind the edit before it, or not within the text.")
            keep(edit.start)
            for place in range(edit.start, edit.end):
                moved[place] = len(starts)
            start, end = self._replaced(edit)
            parts.append(edit.text)
            starts += [start] * len(edit.text)
            ends += [end] * len(edit.text)
            done = edit.end
            while passed < len(self.links) and self.links[passed].end <= edit.start:
                passed += 1
            if passed < len(self.links) and self.links[passed].start < edit.end:
                raise ValueError(f"{edit} changes characters of a link.")
        keep(len(self.text))
        links = tuple(
            replace(link, start=moved[link.start], end=moved[link.end - 1] + 1) for link in self.links
        )
        return SourceText("".join(parts), tuple(starts), tuple(ends), links)

    def _replaced(self, edit: Edit) -> tuple[int, int]:
        if edit.start < edit.end:
            return self.span(edit.start, edit.end)
        place = self.ends[edit.start - 1] if edit.start else (self.starts or (0,))[0]
        return place, place


def paragraphs(text: str) -> list[SourceText]:
    """Parts of the text between blank lines that may be spoken, with every run of whitespace as one
    space (wrapped lines read on); lines that begin a block of Markdown are parts too, without its mark."""
    parts = (_in_one_line(text, part) for part in _parts(text))
    return [part for part in parts if has_words(part.text)]


@dataclass
class _Part:
    """The lines of a paragraph, as slices of the text without marks; kind: see `Block`, "" for none."""

    kind: str = ""
    lines: list[tuple[int, int]] = field(default_factory=list)


def _parts(text: str) -> Iterator[_Part]:
    part = _Part()
    for start, end in _lines(text):
        if start == end:
            yield part
            part = _Part()
            continue
        block = block_at(text, start, numbered=not part.lines or part.kind == "numbered")
        if block is not None or part.kind in _ONE_LINE:
            yield part
            part = _Part(block.kind if block else "")
        if block is not None and block.kind == "fence":
            continue
        begin = block.end if block is not None and block.kind != "numbered" else start
        part.lines.append((begin, end))
    yield part


def _lines(text: str) -> Iterator[tuple[int, int]]:
    """The words of every line, from the first to the end."""
    place = 0
    for line in text.split("\n"):
        end = place + len(line)
        lead = _LEAD.match(text, place, end)
        yield lead.end() if lead else place, end
        place = end + 1


def _in_one_line(text: str, part: _Part) -> SourceText:
    chars: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    for line in part.lines:
        for match in _WORD.finditer(text, *line):
            if chars:
                chars.append(" ")
                starts.append(ends[-1])
                ends.append(match.start())
            chars.append(match.group())
            starts += range(match.start(), match.end())
            ends += range(match.start() + 1, match.end() + 1)
    source = SourceText("".join(chars), tuple(starts), tuple(ends))
    if part.kind == "numbered":
        mark = re.search(r"[.)]", source.text)
        return source.edited([Edit(mark.start(), mark.end(), ":")] if mark else [])
    if part.kind == "row":
        return source.edited(
            Edit(*m.span(), ", " if m.end() < len(source.text) else "") for m in _CELL.finditer(source.text)
        )
    if part.kind == "item":
        box = _BOX.match(source.text)
        return source.edited([Edit(*box.span(), "")] if box else [])
    return source
