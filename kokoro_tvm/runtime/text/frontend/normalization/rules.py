"""How passes over markup and characters find what they rewrite."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from kokoro_tvm.runtime.text.frontend.source import Edit

__all__ = ["any_of", "rewrite"]


def rewrite(
    pattern: re.Pattern[str], text: str, reading: Callable[[re.Match[str]], str | None]
) -> Iterator[Edit]:
    """Edits that put what `reading` says of each match in its place. None leaves a match as it stands."""
    for match in pattern.finditer(text):
        words = reading(match)
        if words is not None and words != match[0]:
            yield Edit(match.start(), match.end(), words)


def any_of(words: Iterable[str]) -> str:
    """A pattern of one of the words, the longest that fits."""
    return "(?:" + "|".join(sorted(map(re.escape, words), key=len, reverse=True)) + ")"
