"""Telephone numbers and postal codes, figure by figure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kokoro_tvm.runtime.frontend.normalization.rules import figures, rewrite
from kokoro_tvm.runtime.frontend.source import Edit

__all__ = ["numbers"]

_NUMBER = re.compile(
    r"(?<![\w.,+–-])(?:"
    r"(?P<phone>\+\d{1,3}(?:[ .-]?\(\d{1,5}\)|[ .-]?\d{1,5})(?:[ .-]\d{2,5}){1,5}"  # of any country
    r"|(?:1[ .-])?(?:\(\d{3}\) ?|\d{3}[.-])\d{3}[ .-]\d{4}"  # of North America
    r"|\(?0\d{2,4}\)? \d{3,4} ?\d{3,4}"  # of Britain
    r"|\+\d{7,15}"
    r"|\d{5}-\d{4})"  # an American postal code
    r"|(?P<local>(?P<office>\d{3})-(?P<line>\d{4})))"
    r"(?![\w–-]|[.,]\d)"
)
_GROUPS = re.compile(r"\d+")
_PAGES = re.compile(r"(?:p|pages|years|from|between) $", re.IGNORECASE)


def numbers(text: str) -> Iterator[Edit]:
    """555-0123: five five five, oh one two three; a + is read."""

    def spoken(match: re.Match[str]) -> str | None:
        if match["local"] and _is_range(text, match):
            return None
        plus = "plus " if match[0].startswith("+") else ""
        return plus + ", ".join(map(figures, _GROUPS.findall(match[0])))

    return rewrite(_NUMBER, text, spoken)


def _is_range(text: str, match: re.Match[str]) -> bool:
    """Whether a local number may be pages or years."""
    line = int(match["line"])
    likely = 1000 <= line <= 2100 and match["office"] != "555"
    return likely or bool(_PAGES.search(text, max(0, match.start() - 10), match.start()))
