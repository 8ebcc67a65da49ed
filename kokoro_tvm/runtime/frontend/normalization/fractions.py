"""Fractions: one character, or figures with a slash, behind a whole number perhaps."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from fractions import Fraction

from kokoro_tvm.runtime.frontend.normalization.rules import rewrite
from kokoro_tvm.runtime.frontend.numerals import cardinal, ordinal
from kokoro_tvm.runtime.frontend.source import Edit

__all__ = ["fractions"]

_FRACTION = re.compile(
    r"(?:(?<![\w.,/])(?P<whole>\d{1,9})[ \u2009]?)?(?P<char>[¼½¾⅐-⅞])(?!\d)"
    r"|(?<![\w.,/–-])(?P<marks>\d{1,2}(?:\.\d)?)/10(?![\w/⁄]|\.\d)"
    r"|(?<![\w.,/–-])(?:(?P<before>\d{1,9})[ -])?(?P<above>\d{1,2})[/⁄](?P<below>\d{1,2})(?![\w/⁄]|\.\d)"
)
_PARTS = frozenset({2, 3, 4, 5, 6, 7, 8, 9, 16, 32, 64})  # "9/11" is a day


def fractions(text: str) -> Iterator[Edit]:
    """½ is one half, 1½ is 1 and a half, 3/4 is three quarters; 9/10 is 9 out of 10."""
    return rewrite(_FRACTION, text, _spoken)


def _spoken(match: re.Match[str]) -> str | None:
    if match["marks"]:
        return f"{match['marks']} out of 10"
    if match["char"]:
        value = Fraction(unicodedata.numeric(match["char"])).limit_denominator(10)
        above, below, whole = value.numerator, value.denominator, match["whole"]
    else:
        above, below, whole = int(match["above"]), int(match["below"]), match["before"]
        if not 0 < above < below or below not in _PARTS:
            return None
    if below == 2:
        name = "half"
    else:
        name = " ".join(["quarter"] if below == 4 else ordinal(below)) + ("" if above == 1 else "s")
    if whole is None:
        return f"{' '.join(cardinal(above))} {name}"
    return f"{whole} and {'a' if above == 1 and below != 8 else ' '.join(cardinal(above))} {name}"
