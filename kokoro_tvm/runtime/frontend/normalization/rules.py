"""How passes find what they rewrite, and the words and patterns that several of them share."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from kokoro_tvm.runtime.frontend.numerals import cardinal
from kokoro_tvm.runtime.frontend.source import Edit

__all__ = ["MONTHS", "NUMBER", "any_of", "figures", "grouped", "ordinal", "rewrite"]

# Repetitions are bounded, and patterns do not begin inside a word or a number: time stays linear.
NUMBER = r"(?:\d{1,3}(?:,\d{3}){1,5}|\d{1,15})(?:\.\d{1,9})?"
"""A number in figures, with commas perhaps."""
MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)


def rewrite(
    pattern: re.Pattern[str], text: str, reading: Callable[[re.Match[str]], str | None], group: int | str = 0
) -> Iterator[Edit]:
    """Edits that put what `reading` says of each match in its place, or in that of one group of it.

    None leaves a match as it stands.
    """
    for match in pattern.finditer(text):
        words = reading(match)
        if words is not None and words != match[group]:
            yield Edit(match.start(group), match.end(group), words)


def any_of(words: Iterable[str]) -> str:
    """A pattern of one of the words, the longest that fits."""
    return "(?:" + "|".join(sorted(map(re.escape, words), key=len, reverse=True)) + ")"


def grouped(number: str) -> str:
    """A number that is no year: with a comma where it has four figures."""
    whole, point, rest = number.partition(".")
    return f"{whole[0]},{whole[1:]}{point}{rest}" if len(whole) == 4 and whole[0] != "0" else number


def figures(number: str) -> str:
    """Figures one by one, as a telephone number is read."""
    return " ".join("oh" if figure == "0" else cardinal(int(figure))[0] for figure in number)


def ordinal(number: int) -> str:
    """A rank in figures: 21st."""
    ending = "th" if 10 < number % 100 < 20 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"
