"""Texts with links, as the front end reads them."""

from __future__ import annotations

from dataclasses import replace

from kokoro_tvm.runtime.frontend.source import Link, SourceText
from kokoro_tvm.runtime.markup import Known, Stretch, parse

__all__ = ["linked"]


def linked(text: str) -> SourceText:
    """A text without pauses, whose `[word](/phonemes/)` are links; all of its symbols are known."""
    written, starts, ends = "", list[int](), list[int]()
    links: list[Link] = []
    for item in parse(text, Known(frozenset(text), lambda voice: "a"), ssml=False):
        assert isinstance(item, Stretch)
        place = len(written)
        links += (replace(a, start=a.start + place, end=a.end + place) for a in item.source.links)
        written += item.source.text
        starts += item.source.starts
        ends += item.source.ends
    return SourceText(written, tuple(starts), tuple(ends), tuple(links))
