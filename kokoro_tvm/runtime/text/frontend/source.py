"""Text that remembers for each character its place in the source, and links with pronunciations."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from kokoro_tvm.runtime.text.frontend.pictures import has_speakable_character

WORD = re.compile(r"\S+")
"""Characters between spaces."""
_INTEGER = re.compile(r"[-+]?[0-9]+")


@dataclass(frozen=True)
class Link:
    """How the characters from `start` to `end` are to be spoken.

    Attributes:
        phonemes: Phonemes in their place.
        stress: Stress of the words, see `restress`.
        flags: How a number is read: "a" for "a hundred", "&" with "and".
        alias: Another text in their place.
        origin: Who gave the phonemes.
    """

    start: int
    end: int
    phonemes: str | None = None
    stress: float | None = None
    flags: str = ""
    alias: str | None = None
    origin: str = "given"

    @property
    def is_fixed(self) -> bool:
        """Whether its characters are replaced, and so not read."""
        return self.phonemes is not None or self.alias is not None


@dataclass(frozen=True)
class Edit:
    """Replacement of the characters from `start` to `end`, which are equal for an insertion."""

    start: int
    end: int
    text: str


@dataclass(frozen=True)
class SourceText:
    """Text, with the slice of the source that each character stands for.

    Attributes:
        starts, ends: Places in the source, one per character of `text`.
        links: In order; their places are places in `text`.
    """

    text: str
    starts: tuple[int, ...]
    ends: tuple[int, ...]
    links: tuple[Link, ...] = ()

    @classmethod
    def of(cls, text: str, start: int = 0, links: tuple[Link, ...] = ()) -> SourceText:
        """Create a text that is its own source, or stands in it from `start` on."""
        end = start + len(text)
        return cls(text, tuple(range(start, end)), tuple(range(start + 1, end + 1)), links)

    @classmethod
    def concatenate(cls, parts: Iterable[SourceText]) -> SourceText:
        """Join parts, with their places and links."""
        texts: list[str] = []
        starts: list[int] = []
        ends: list[int] = []
        links: list[Link] = []
        for part in parts:
            place = len(starts)
            texts.append(part.text)
            links += (replace(link, start=link.start + place, end=link.end + place) for link in part.links)
            starts += part.starts
            ends += part.ends
        return cls("".join(texts), tuple(starts), tuple(ends), tuple(links))

    @property
    def is_speakable(self) -> bool:
        """Whether it has a letter, digit or emoji, or a link with phonemes."""
        return has_speakable_character(self.text) or any(link.phonemes for link in self.links)

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Return the source slice of a non-empty slice of the text."""
        return self.starts[start], self.ends[end - 1]

    def join_slices(self, spans: Iterable[tuple[int, int]]) -> SourceText:
        """Return non-empty slices of the text, joined by single spaces.

        A link belongs to the slice that it begins in; a link that begins between two slices is dropped.
        """
        chars: list[str] = []
        starts: list[int] = []
        ends: list[int] = []
        links: list[Link] = []
        waiting: int | None = None  # index of the first link that may begin in this or a later slice
        for first, last in spans:
            if waiting is None:
                waiting = bisect_left(self.links, first, key=lambda link: link.start)
            if chars:
                chars.append(" ")
                starts.append(ends[-1])
                ends.append(self.starts[first])
            back = first - len(starts)
            chars.append(self.text[first:last])
            starts += self.starts[first:last]
            ends += self.ends[first:last]
            while waiting < len(self.links) and (link := self.links[waiting]).start < last:
                waiting += 1
                if link.start >= first:
                    links.append(replace(link, start=link.start - back, end=link.end - back))
        return SourceText("".join(chars), tuple(starts), tuple(ends), tuple(links))

    def apply_edits(self, edits: Iterable[Edit]) -> SourceText:
        """Return the edited text; inserted characters stand for all that they replace.

        A link keeps its span; words of a link that only stresses them may change.

        Args:
            edits: Edits in order, without overlap.

        Raises:
            ValueError: The edits are not in order, or change characters of a fixed link.
        """
        edits = tuple(edits)
        if not edits:
            return self
        parts: list[str] = []
        starts: list[int] = []
        ends: list[int] = []
        first = [0] * len(self.text)  # place in the text -> place in the edited text where its words begin
        last = [0] * len(self.text)  # -> where they end
        end = next_link = 0

        def keep(until: int) -> None:
            for place in range(end, until):
                first[place] = len(starts) + place - end
                last[place] = first[place] + 1
            parts.append(self.text[end:until])
            starts.extend(self.starts[end:until])
            ends.extend(self.ends[end:until])

        for edit in edits:
            if not end <= edit.start <= edit.end <= len(self.text):
                raise ValueError(f"{edit} is not behind the edit before it, or not within the text.")
            keep(edit.start)
            for place in range(edit.start, edit.end):
                first[place] = len(starts)
                last[place] = len(starts) + len(edit.text)
            start, stop = self._replaced(edit)
            parts.append(edit.text)
            starts += [start] * len(edit.text)
            ends += [stop] * len(edit.text)
            end = edit.end
            while next_link < len(self.links) and self.links[next_link].end <= edit.start:
                next_link += 1
            if (
                next_link < len(self.links)
                and self.links[next_link].start < edit.end
                and self.links[next_link].is_fixed
            ):
                raise ValueError(f"{edit} changes characters of a link.")
        keep(len(self.text))
        links = tuple(
            replace(link, start=first[link.start], end=last[link.end - 1])
            for link in self.links
            if first[link.start] < last[link.end - 1]
        )
        return SourceText("".join(parts), tuple(starts), tuple(ends), links)

    def _replaced(self, edit: Edit) -> tuple[int, int]:
        if edit.start < edit.end:
            return self.span(edit.start, edit.end)
        place = self.ends[edit.start - 1] if edit.start else (self.starts or (0,))[0]
        return place, place


def skip_links(edits: Iterable[Edit], links: Sequence[Link]) -> Iterator[Edit]:
    """Yield the edits that touch no link; both are in order."""
    place = 0
    for edit in edits:
        while place < len(links) and links[place].end <= edit.start:
            place += 1
        if place == len(links) or edit.end <= links[place].start:
            yield edit


def apply_aliases(source: SourceText) -> SourceText:
    """Replace the characters of links that have an alias."""
    edits = [Edit(link.start, link.end, link.alias) for link in source.links if link.alias is not None]
    if not edits:
        return source
    return replace(source, links=tuple(link for link in source.links if link.alias is None)).apply_edits(
        edits
    )


def parse_link(request: str) -> Link | None:
    """Return the link that the text in round brackets asks for, or None if it asks for nothing."""
    if _INTEGER.fullmatch(request):
        return Link(0, 0, stress=int(request))
    if request in ("0.5", "+0.5", "-0.5"):
        return Link(0, 0, stress=float(request))
    if len(request) > 1 and request[0] == request[-1] == "/":
        return Link(0, 0, phonemes=request.strip("/"))
    if len(request) > 1 and request[0] == request[-1] == "#":
        return Link(0, 0, flags=request.strip("#"))
    return None


def edit_matches(
    pattern: re.Pattern[str], text: str, reading: Callable[[re.Match[str]], str | None]
) -> Iterator[Edit]:
    """Yield an edit for each match whose `reading` is not None and differs from it."""
    for match in pattern.finditer(text):
        words = reading(match)
        if words is not None and words != match[0]:
            yield Edit(match.start(), match.end(), words)
