"""Links inside a text: `[word](/phonemes/)`, `[word](-1)` for its stress, `[1500](#a#)` for its numbers."""

from __future__ import annotations

import re
from dataclasses import replace

from kokoro_tvm.runtime.frontend.source import Edit, Link, SourceText

__all__ = ["aliased", "link_of", "without_links"]

# What is no link is matched too, without its last group, and not looked at again: time stays linear.
_LINK = re.compile(r"\[([^\]]+)(?:\](?:\(([^\)]*)(\))?)?)?")
_WHOLE = re.compile(r"[-+]?[0-9]+")


def without_links(source: SourceText) -> SourceText:
    """The text with only the words of its links, and with its links as values.

    Brackets that ask for nothing known lose what stands in the round ones, as they do in misaki.
    """
    edits: list[Edit] = []
    links: list[Link] = []
    removed = 0
    for match in _LINK.finditer(source.text):
        if not match[3]:
            continue
        opening, closing = (match.start(), match.start(1)), (match.end(1), match.end())
        link = link_of(match[2])
        if link is not None:
            start = opening[0] - removed
            links.append(replace(link, start=start, end=start + len(match.group(1))))
        removed += sum(end - start for start, end in (opening, closing))
        edits += [Edit(*opening, ""), Edit(*closing, "")]
    return replace(source.edited(edits), links=tuple(links))


def aliased(source: SourceText) -> SourceText:
    """The text with other texts in the place of what is to be spoken as they are."""
    edits = [Edit(link.start, link.end, link.alias) for link in source.links if link.alias is not None]
    if not edits:
        return source
    return replace(source, links=tuple(link for link in source.links if link.alias is None)).edited(edits)


def link_of(request: str) -> Link | None:
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
