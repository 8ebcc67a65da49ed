"""Marks at the beginning of a line that make it a block of its own: headings, items, rows, rules, fences.

They are Markdown's (https://spec.commonmark.org/0.31.2/), as far as they can be known from the line's first
characters.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, TypeAlias

__all__ = ["LOOKAHEAD", "Block", "match_block", "may_begin_block"]

Kind: TypeAlias = Literal["heading", "item", "numbered", "row", "fence", "rule"]

LOOKAHEAD = 8
"""Characters of a line that show whether it begins a block."""

_FIRST = frozenset("#-*+•‣◦▪0123456789|`~_=")
_BLOCK = re.compile(
    r"(?P<heading>\#{1,6})(?=\s)"
    r"|(?P<rule>-{3}(?=[-\s])|\*{3}(?=[*\s])|_{3}(?=[_\s])|={3}(?=[=\s]))"
    r"|(?P<item>[-*+•‣◦▪])[ \t]"
    r"|(?P<numbered>\d{1,3})[.)][ \t]{1,3}(?=\S)"
    r"|(?P<row>\|)"
    r"|(?P<fence>```|~~~)"
)


@dataclass(frozen=True)
class Block:
    """kind: what begins; end: where its mark ends."""

    kind: Kind
    end: int

    @property
    def is_one_line(self) -> bool:
        """Whether it ends with its line."""
        return self.kind not in ("item", "numbered")


def may_begin_block(char: str) -> bool:
    """Whether a line with this first character may begin a block."""
    return char in _FIRST


def match_block(text: str, place: int, numbered: bool) -> Block | None:
    """The block that begins at `place`, the first character of a line that is no space.

    numbered: whether a numbered item may have any number; among other lines, only 1 begins a list, so that
    a wrapped line may begin with a number that ends a sentence.
    """
    found = _BLOCK.match(text, place)
    if found is None or (found["numbered"] and not numbered and int(found["numbered"]) != 1):
        return None
    kind: Kind = next(kind for kind in _KINDS if found[kind])
    return Block(kind, found.end())


_KINDS: tuple[Kind, ...] = ("heading", "item", "numbered", "row", "fence", "rule")
