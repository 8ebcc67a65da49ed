"""What stands between two numbers, and before one: "to", "minus", "number", "about"."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kokoro_tvm.runtime.frontend.normalization.rules import NUMBER
from kokoro_tvm.runtime.frontend.source import Edit

__all__ = ["ranges"]

_ENDING = "(?:st|nd|rd|th|s)?"
_RANGE = re.compile(
    rf"(?<![\w.,–-])[$£€]?{NUMBER}{_ENDING}%?(?P<between>[–-]|\s[–-]\s|–\s|\s–)(?={NUMBER}{_ENDING}(?![\w–-]))"
    rf"|(?<![^\s(\[\"“‘'])(?P<minus>[-−])(?=\.?\d)"
    rf"|(?<![\w#&])(?P<number>(?:#|№ ?)(?=\d))"
    rf"|(?<!\S)(?P<about>[~∼] ?(?=[$£€]?\d))"
)
_SUM = re.compile(r"[=+×÷*]")
_ABOUT = re.compile(r"(?:about|roughly|around|approximately) $", re.IGNORECASE)


def ranges(text: str) -> Iterator[Edit]:
    """10-20 is 10 to 20, -5 is minus 5, #5 is number 5, ~5 is about 5."""
    is_sum = _SUM.search(text) is not None
    for match in _RANGE.finditer(text):
        if match["between"]:
            subtracted = is_sum and match["between"] == " - "
            yield Edit(*match.span("between"), " minus " if subtracted else " to ")
        elif match["minus"]:
            yield Edit(*match.span("minus"), "minus ")
        elif match["number"]:
            yield Edit(*match.span("number"), "number ")
        else:
            known = _ABOUT.search(text, max(0, match.start() - 16), match.start())
            yield Edit(*match.span("about"), "" if known else "about ")
