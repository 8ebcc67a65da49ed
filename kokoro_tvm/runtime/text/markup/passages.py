"""Sentences of a text with markup, and its paragraphs: what is read as one, in one voice, up to a break."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from kokoro_tvm.common.errors import InputError
from kokoro_tvm.runtime.prosody import LONGEST_PAUSE, Boundary
from kokoro_tvm.runtime.text.frontend.source import Link, SourceText
from kokoro_tvm.runtime.text.markup.items import Break, MarkupItem, SpeakingStyle, TextRun
from kokoro_tvm.runtime.text.passages import Passage, split_passages

__all__ = ["StyledPassage", "split_sections", "split_styled_passages"]

_CLOSING_MARKS = frozenset(";:,.!?…)”»—。、，；：！？")
_RANKS: dict[Boundary, int] = {"clause": 0, "sentence": 1, "paragraph": 2, "end": 3}


@dataclass(frozen=True)
class StyledPassage:
    """A part of a text, what ends it, and the seconds of silence requested after it.

    source: its characters with their places in the whole text, and its links; styles: of each character,
    all in one voice; joined: whether the text has no space between it and the passage before. A passage
    without characters is a pause.
    """

    source: SourceText
    styles: tuple[SpeakingStyle, ...]
    boundary: Boundary
    pause: float | None = None
    joined: bool = False

    @property
    def voice(self) -> str | None:
        """The voice it is spoken in; None for that of the request."""
        return self.styles[0].voice if self.styles else None

    @property
    def detached(self) -> SourceText:
        """Its text as a source of its own."""
        return SourceText.of(self.source.text, links=self.source.links)


def split_styled_passages(items: Iterable[MarkupItem]) -> Iterator[StyledPassage]:
    """Sentences, each as soon as what is there of the text shows its end; breaks end a sentence too.

    Pauses that follow each other add up. Raises InputError where they exceed the longest.
    """
    return _joined(iter(items), split_passages)


def split_sections(items: Iterable[MarkupItem]) -> Iterator[StyledPassage]:
    """All text between two breaks as one passage."""
    return _joined(iter(items), _whole)


def _whole(portions: Iterable[str]) -> Iterator[Passage]:
    text = "".join(portions)
    if text.strip():
        yield Passage(text.strip(), len(text) - len(text.lstrip()), "end")


def _joined(
    items: Iterator[MarkupItem], divided: Callable[[Iterable[str]], Iterator[Passage]]
) -> Iterator[StyledPassage]:
    held: StyledPassage | None = None  # the last passage before breaks, whose boundary is not known
    found = Break()  # the breaks since then
    section = _SectionBuffer(items)
    while not section.ended:
        for passage in divided(section.portions()):
            if held is not None or found.pause is not None:
                yield _closed(held, found)
            marked = section.take(passage, found)
            held, found = None, Break()
            if marked.boundary == "end":
                held = marked
            else:
                yield marked
        section.clear()
        found = _both(found, section.found)
    if held is not None or found.pause is not None:
        yield _closed(held, replace(found, boundary="end"))


def _closed(passage: StyledPassage | None, after: Break) -> StyledPassage:
    passage = passage or StyledPassage(SourceText.of(""), (), "end")
    return replace(passage, boundary=after.boundary, pause=after.pause)


def _both(first: Break, second: Break) -> Break:
    boundary = max(first.boundary, second.boundary, key=_RANKS.__getitem__)
    pauses = [pause for pause in (first.pause, second.pause) if pause is not None]
    if sum(pauses) > LONGEST_PAUSE:
        raise InputError(
            f"Pauses that follow each other last {sum(pauses):g} s; {LONGEST_PAUSE} s is the longest."
        )
    return Break(boundary, sum(pauses) if pauses else None)


class _SectionBuffer:
    """The text up to the next break, with what markup says of its characters."""

    def __init__(self, items: Iterator[MarkupItem]) -> None:
        self._items = items
        self.ended = False
        self.found = Break()
        self._text = ""
        self._touched = False  # whether the text touches what was taken last
        self.clear()

    def clear(self) -> None:
        """Begin a new one."""
        self._touched = self._touched and not self._text
        self._done = 0  # characters of the section that were taken
        self._text = ""
        self._starts: list[int] = []
        self._ends: list[int] = []
        self._styles: list[SpeakingStyle] = []
        self._links: list[Link] = []

    def portions(self) -> Iterator[str]:
        """What `split_passages` looks at: what is spoken as one word looks like one."""
        for item in self._items:
            if isinstance(item, Break):
                self.found = item
                return
            yield self._add(item)
        self.found, self.ended = Break(), True

    def _add(self, item: TextRun) -> str:
        source, start = item.source, len(self._text)
        self._text += source.text
        self._starts += source.starts
        self._ends += source.ends
        self._styles += [item.style] * len(source.text)
        self._links += (
            replace(link, start=link.start + start, end=link.end + start) for link in source.links
        )
        text = source.text
        for link in source.links:
            if link.is_fixed:
                word = "".join(c if c.isalnum() else "x" for c in text[link.start : link.end])
                text = text[: link.start] + word + text[link.end :]
        return text

    def take(self, passage: Passage, after: Break) -> StyledPassage:
        """The characters of a passage that `split_passages` found; what stands before them is let go.

        after: the breaks between it and the passage before. A pause is a space, but before a closing mark.
        """
        first = passage.start - self._done
        joined = first == 0 and (self._touched if after == Break() else passage.text[0] in _CLOSING_MARKS)
        self._touched = True
        last = first + len(passage.text)
        source = SourceText(
            self._text[first:last],
            tuple(self._starts[first:last]),
            tuple(self._ends[first:last]),
            tuple(_cut(link, first, last) for link in self._links if link.start < last and link.end > first),
        )
        styles = tuple(self._styles[first:last])
        marked = StyledPassage(source, styles, passage.boundary, joined=joined)
        self._text = self._text[last:]
        for values in (self._starts, self._ends, self._styles):
            del values[:last]
        self._links = [
            replace(link, start=link.start - last, end=link.end - last)
            for link in self._links
            if link.end > last
        ]
        self._done += last
        return marked


def _cut(link: Link, first: int, last: int) -> Link:
    """The part of a link within a passage; what is spoken instead of it is spoken where it begins."""
    if link.start < first and link.phonemes is not None:
        link = replace(link, phonemes="")
    if link.start < first and link.alias is not None:
        link = replace(link, alias="")
    return replace(link, start=max(link.start, first) - first, end=min(link.end, last) - first)
