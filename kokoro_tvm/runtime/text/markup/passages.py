"""Split the items of a text with markup into sentences or sections of one voice."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from kokoro_tvm.common.errors import InputError
from kokoro_tvm.runtime.prosody import LONGEST_PAUSE, Boundary
from kokoro_tvm.runtime.text.frontend.source import Link, SourceText
from kokoro_tvm.runtime.text.markup.items import Break, MarkupItem, SpeakingStyle, TextRun
from kokoro_tvm.runtime.text.passages import Passage, split_passages

_CLOSING_MARKS = frozenset(";:,.!?…)”»—。、，；：！？")
_RANKS: dict[Boundary, int] = {"clause": 0, "sentence": 1, "paragraph": 2, "end": 3}


@dataclass(frozen=True)
class StyledPassage:
    """Part of a text, what ends it, and the silence that is requested after it.

    A passage without characters is a pause.

    Attributes:
        source: Its characters, with places in the whole text, and its links.
        styles: Of each character, all in one voice.
        boundary: What ends it.
        pause: Seconds of silence.
        joined: Whether no space separates it from the passage before.
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
    """Yield sentences, each as soon as its end is certain; breaks end a sentence too.

    Consecutive pauses add up.

    Raises:
        InputError: They exceed the longest pause.
    """
    return _split_items(iter(items), split_passages)


def split_sections(items: Iterable[MarkupItem]) -> Iterator[StyledPassage]:
    """Yield all text between two breaks as one passage."""
    return _split_items(iter(items), _split_nothing)


def _split_nothing(portions: Iterable[str]) -> Iterator[Passage]:
    text = "".join(portions)
    if text.strip():
        yield Passage(text.strip(), len(text) - len(text.lstrip()), "end")


def _split_items(
    items: Iterator[MarkupItem], split: Callable[[Iterable[str]], Iterator[Passage]]
) -> Iterator[StyledPassage]:
    pending: StyledPassage | None = None  # passage before the breaks, whose boundary is not known yet
    breaks = Break()  # since that passage
    section = _SectionBuffer(items)
    while not section.is_complete:
        for passage in split(section.portions()):
            if pending is not None or breaks.pause is not None:
                yield _close_passage(pending, breaks)
            styled = section.take(passage, breaks)
            pending, breaks = None, Break()
            if styled.boundary == "end":
                pending = styled
            else:
                yield styled
        section.clear()
        breaks = _merge_breaks(breaks, section.next_break)
    if pending is not None or breaks.pause is not None:
        yield _close_passage(pending, replace(breaks, boundary="end"))


def _close_passage(passage: StyledPassage | None, after: Break) -> StyledPassage:
    passage = passage or StyledPassage(SourceText.of(""), (), "end")
    return replace(passage, boundary=after.boundary, pause=after.pause)


def _merge_breaks(first: Break, second: Break) -> Break:
    boundary = max(first.boundary, second.boundary, key=_RANKS.__getitem__)
    pauses = [pause for pause in (first.pause, second.pause) if pause is not None]
    if sum(pauses) > LONGEST_PAUSE:
        raise InputError(
            f"Pauses that follow each other last {sum(pauses):g} s; {LONGEST_PAUSE} s is the longest."
        )
    return Break(boundary, sum(pauses) if pauses else None)


class _SectionBuffer:
    """Text up to the next break, with places, styles and links of its characters."""

    def __init__(self, items: Iterator[MarkupItem]) -> None:
        self._items = items
        self.is_complete = False
        self.next_break = Break()
        self._text = ""
        self._touches = False  # whether no space separates the text from the last passage
        self.clear()

    def clear(self) -> None:
        """Start the next section."""
        self._touches = self._touches and not self._text
        self._done = 0  # characters of the section that were taken
        self._text = ""
        self._starts: list[int] = []
        self._ends: list[int] = []
        self._styles: list[SpeakingStyle] = []
        self._links: list[Link] = []

    def portions(self) -> Iterator[str]:
        """Yield text for `split_passages`; characters of fixed links look like one word."""
        for item in self._items:
            if isinstance(item, Break):
                self.next_break = item
                return
            yield self._add(item)
        self.next_break, self.is_complete = Break(), True

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
                word = "".join(char if char.isalnum() else "x" for char in text[link.start : link.end])
                text = text[: link.start] + word + text[link.end :]
        return text

    def take(self, passage: Passage, after: Break) -> StyledPassage:
        """Remove the text up to the end of a passage; return the passage with its markup.

        Args:
            passage: Of the yielded text.
            after: Breaks before it. They count as a space, except before a closing mark.
        """
        first = passage.start - self._done
        is_joined = first == 0 and (self._touches if after == Break() else passage.text[0] in _CLOSING_MARKS)
        self._touches = True
        last = first + len(passage.text)
        source = SourceText(
            self._text[first:last],
            tuple(self._starts[first:last]),
            tuple(self._ends[first:last]),
            tuple(
                _clip_link(link, first, last)
                for link in self._links
                if link.start < last and link.end > first
            ),
        )
        styles = tuple(self._styles[first:last])
        styled = StyledPassage(source, styles, passage.boundary, joined=is_joined)
        self._text = self._text[last:]
        for values in (self._starts, self._ends, self._styles):
            del values[:last]
        self._links = [
            replace(link, start=link.start - last, end=link.end - last)
            for link in self._links
            if link.end > last
        ]
        self._done += last
        return styled


def _clip_link(link: Link, first: int, last: int) -> Link:
    """Return the part of a link within a passage; its phonemes or alias go to the part where it begins."""
    if link.start < first and link.phonemes is not None:
        link = replace(link, phonemes="")
    if link.start < first and link.alias is not None:
        link = replace(link, alias="")
    return replace(link, start=max(link.start, first) - first, end=min(link.end, last) - first)
