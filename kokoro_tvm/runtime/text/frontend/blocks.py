"""Marks at the beginning of a line that begin a block: headings, items, rows, rules, fences.

They are those of Markdown (https://spec.commonmark.org/0.31.2/), as far as the first characters show them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, TypeAlias

Kind: TypeAlias = Literal["heading", "item", "numbered", "row", "fence", "rule"]

LOOKAHEAD = 8
"""Characters of a line that are enough to recognize a block."""

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
    """Mark of a block.

    Attributes:
        kind: What begins.
        end: Where the mark ends.
    """

    kind: Kind
    end: int

    @property
    def is_one_line(self) -> bool:
        """Whether the block ends with its line."""
        return self.kind not in ("item", "numbered")


def may_begin_block(char: str) -> bool:
    """Return whether a line with this first character may begin a block."""
    return char in _FIRST


def match_block(text: str, place: int, numbered: bool) -> Block | None:
    """Return the block that begins at `place`, the first non-space of a line, or None.

    Args:
        text: The text.
        place: Index of the character.
        numbered: Whether an item may have any number. Among other lines only 1 begins a list, so that a
            wrapped line may begin with a number.
    """
    match = _BLOCK.match(text, place)
    if match is None or (match["numbered"] and not numbered and int(match["numbered"]) != 1):
        return None
    kind: Kind = next(kind for kind in _KINDS if match[kind])
    return Block(kind, match.end())


_KINDS: tuple[Kind, ...] = ("heading", "item", "numbered", "row", "fence", "rule")
