"""Texts that remember where their characters come from, and what markup says of them."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from kokoro_tvm.runtime.text.frontend.pictures import has_speakable_character

__all__ = ["WORD", "Edit", "Link", "SourceText", "apply_aliases", "edit_matches", "parse_link", "skip_links"]

WORD = re.compile(r"\S+")
"""What stands between spaces."""
_WHOLE = re.compile(r"[-+]?[0-9]+")


@dataclass(frozen=True)
class Link:
    """How the characters from start to end are to be spoken: by their phonemes, with another stress (see
    `restress`), with flags of a number ("a" for "a hundred", "&" with "and"), or as another text; origin: who
    gave the phonemes."""

    start: int
    end: int
    phonemes: str | None = None
    stress: float | None = None
    flags: str = ""
    alias: str | None = None
    origin: str = "given"

    @property
    def is_fixed(self) -> bool:
        """Whether its characters are not read."""
        return self.phonemes is not None or self.alias is not None


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
    def of(cls, text: str, start: int = 0, links: tuple[Link, ...] = ()) -> SourceText:
        """A text that is its own source, or stands in it from `start` on."""
        end = start + len(text)
        return cls(text, tuple(range(start, end)), tuple(range(start + 1, end + 1)), links)

    @classmethod
    def concatenate(cls, parts: Iterable[SourceText]) -> SourceText:
        """Parts one after the other, with the places and links of each."""
        texts: list[str] = []
        starts: list[int] = []
        ends: list[int] = []
        links: list[Link] = []
        for part in parts:
            place = len(starts)
            texts.append(part.text)
            links += (replace(a, start=a.start + place, end=a.end + place) for a in part.links)
            starts += part.starts
            ends += part.ends
        return cls("".join(texts), tuple(starts), tuple(ends), tuple(links))

    @property
    def is_speakable(self) -> bool:
        """Whether it has a letter, digit or picture, or something that a link says how to speak."""
        return has_speakable_character(self.text) or any(link.phonemes for link in self.links)

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Where the characters from `start` to `end` (one at least) come from."""
        return self.starts[start], self.ends[end - 1]

    def join_slices(self, spans: Iterable[tuple[int, int]]) -> SourceText:
        """Slices of the text, none of them empty, with one space for what stands between them.

        A link belongs to the slice that it begins in; one that begins between two is left out.
        """
        chars: list[str] = []
        starts: list[int] = []
        ends: list[int] = []
        links: list[Link] = []
        waiting: int | None = None  # the first link that may begin in what follows
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
        """The text after edits, which are in order and do not overlap each other; all of what is put in
        stands for all of what it replaces.

        A link keeps what it spans; of one that says how its words are stressed these may change. Raises
        ValueError for an edit of another link, and for edits in disorder.
        """
        edits = tuple(edits)
        if not edits:
            return self
        parts: list[str] = []
        starts: list[int] = []
        ends: list[int] = []
        first = [0] * len(self.text)  # place in the text -> place in the edited text where its words begin
        behind = [0] * len(self.text)  # -> where they end
        done = passed = 0

        def keep(until: int) -> None:
            for place in range(done, until):
                first[place] = len(starts) + place - done
                behind[place] = first[place] + 1
            parts.append(self.text[done:until])
            starts.extend(self.starts[done:until])
            ends.extend(self.ends[done:until])

        for edit in edits:
            if not done <= edit.start <= edit.end <= len(self.text):
                raise ValueError(f"{edit} is not behind the edit before it, or not within the text.")
            keep(edit.start)
            for place in range(edit.start, edit.end):
                first[place] = len(starts)
                behind[place] = len(starts) + len(edit.text)
            start, end = self._replaced(edit)
            parts.append(edit.text)
            starts += [start] * len(edit.text)
            ends += [end] * len(edit.text)
            done = edit.end
            while passed < len(self.links) and self.links[passed].end <= edit.start:
                passed += 1
            if (
                passed < len(self.links)
                and self.links[passed].start < edit.end
                and self.links[passed].is_fixed
            ):
                raise ValueError(f"{edit} changes characters of a link.")
        keep(len(self.text))
        links = tuple(
            replace(link, start=first[link.start], end=behind[link.end - 1])
            for link in self.links
            if first[link.start] < behind[link.end - 1]
        )
        return SourceText("".join(parts), tuple(starts), tuple(ends), links)

    def _replaced(self, edit: Edit) -> tuple[int, int]:
        if edit.start < edit.end:
            return self.span(edit.start, edit.end)
        place = self.ends[edit.start - 1] if edit.start else (self.starts or (0,))[0]
        return place, place


def skip_links(edits: Iterable[Edit], links: Sequence[Link]) -> Iterator[Edit]:
    """The edits that touch no link; both are in the order of their places."""
    place = 0
    for edit in edits:
        while place < len(links) and links[place].end <= edit.start:
            place += 1
        if place == len(links) or edit.end <= links[place].start:
            yield edit


def apply_aliases(source: SourceText) -> SourceText:
    """The text with other texts in the place of what is to be spoken as they are."""
    edits = [Edit(link.start, link.end, link.alias) for link in source.links if link.alias is not None]
    if not edits:
        return source
    return replace(source, links=tuple(link for link in source.links if link.alias is None)).apply_edits(
        edits
    )


def parse_link(request: str) -> Link | None:
    """What the round brackets ask for, without its place; None for what is not known."""
    if _WHOLE.fullmatch(request):
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
    """Edits that put what `reading` says of each match in its place. None leaves a match as it stands."""
    for match in pattern.finditer(text):
        words = reading(match)
        if words is not None and words != match[0]:
            yield Edit(match.start(), match.end(), words)
