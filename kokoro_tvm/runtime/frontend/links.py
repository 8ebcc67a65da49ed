"""Wishes inside a text: `[word](/phonemes/)`, `[word](-1)` for its stress, `[1500](#a#)` for its numbers."""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ["Link", "without_links"]

_LINK = re.compile(r"\[([^\]]+)\]\(([^\)]*)\)")
_WHOLE = re.compile(r"[-+]?[0-9]+")


@dataclass(frozen=True)
class Link:
    """What is asked of the characters from start to end: phonemes, a stress (see `restress`) or flags of a
    number (see `Figures`)."""

    start: int
    end: int
    phonemes: str | None = None
    stress: float | None = None
    flags: str = ""


def without_links(text: str) -> tuple[str, tuple[int, ...], tuple[Link, ...]]:
    """The text with only the words of its links; of each of its characters and of its end, the place in
    `text`; and what the links ask of which characters.

    Brackets that ask for nothing known lose what stands in the round ones, as they do in misaki.
    """
    parts: list[str] = []
    places: list[int] = []
    links: list[Link] = []
    end = 0
    for match in _LINK.finditer(text):
        parts.append(text[end : match.start()])
        places += range(end, match.start())
        link = _link(match.group(2), len(places), len(places) + len(match.group(1)))
        if link is not None:
            links.append(link)
        parts.append(match.group(1))
        places += range(match.start(1), match.end(1))
        end = match.end()
    parts.append(text[end:])
    places += range(end, len(text) + 1)
    return "".join(parts), tuple(places), tuple(links)


def _link(wish: str, start: int, end: int) -> Link | None:
    if _WHOLE.fullmatch(wish):
        return Link(start, end, stress=int(wish))
    if wish in ("0.5", "+0.5", "-0.5"):
        return Link(start, end, stress=float(wish))
    if len(wish) > 1 and wish[0] == wish[-1] == "/":
        return Link(start, end, phonemes=wish.strip("/"))
    if len(wish) > 1 and wish[0] == wish[-1] == "#":
        return Link(start, end, flags=wish.strip("#"))
    return None
