"""What links of a text ask for: `(/phonemes/)`, `(-1)` for a word's stress, `(#a#)` for a number's flags."""

from __future__ import annotations

import re
from dataclasses import replace

from kokoro_tvm.runtime.text.frontend.source import Edit, Link, SourceText

__all__ = ["aliased", "link_of"]

_WHOLE = re.compile(r"[-+]?[0-9]+")


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
