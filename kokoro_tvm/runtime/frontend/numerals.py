"""Numbers in English words."""

from __future__ import annotations

from decimal import Decimal

__all__ = ["LARGEST", "cardinal", "decimal", "ordinal", "year"]

_SMALL = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"),
    *("ten", "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen"),
    "nineteen",
)
_TENS = ("zero", "ten", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_SCALES = (
    *("thousand", "million", "billion", "trillion", "quadrillion", "quintillion", "sextillion"),
    *("septillion", "octillion", "nonillion", "decillion"),
)
_ORDINALS = {
    "one": "first",
    "two": "second",
    "three": "third",
    "five": "fifth",
    "eight": "eighth",
    "nine": "ninth",
    "twelve": "twelfth",
}

LARGEST = 10 ** (3 * (len(_SCALES) + 1)) - 1
"""The largest number that has a name here."""


def cardinal(number: int) -> list[str]:
    """Words of a whole number from 0 to LARGEST: 1234 is one thousand two hundred and thirty four."""
    if number < 20:
        return [_SMALL[number]]
    if number < 100:
        tens, ones = divmod(number, 10)
        return [_TENS[tens], *(cardinal(ones) if ones else ())]
    if number < 1000:
        hundreds, rest = divmod(number, 100)
        return [_SMALL[hundreds], "hundred", *(("and", *cardinal(rest)) if rest else ())]
    scale = (len(str(number)) - 1) // 3
    high, rest = divmod(number, 1000**scale)
    joint = ("and",) if 0 < rest < 100 else ()
    return [*cardinal(high), _SCALES[scale - 1], *joint, *(cardinal(rest) if rest else ())]


def ordinal(number: int) -> list[str]:
    """Words of a rank: 21 is twenty first."""
    *words, last = cardinal(number)
    if last.endswith("y"):
        return [*words, last[:-1] + "ieth"]
    return [*words, _ORDINALS.get(last, last + "th")]


def year(number: int) -> list[str]:
    """Words of four figures as a year: 1905 is nineteen oh five, 2007 two thousand and seven."""
    century, rest = divmod(number, 100)
    if century == 0 or century >= 100 or (century % 10 == 0 and rest < 10):
        return cardinal(number)
    if rest == 0:
        return [*cardinal(century), "hundred"]
    return [*cardinal(century), *(("oh", _SMALL[rest]) if rest < 10 else cardinal(rest))]


def decimal(figures: str) -> list[str]:
    """Words of figures with a point and some before it; zeros at the end are not read: 3.50 is three point
    five, and 3.0 is three."""
    value = Decimal(figures)
    whole = int(value)
    rest = figures.partition(".")[2].rstrip("0")
    return cardinal(whole) + (["point", *(_SMALL[int(figure)] for figure in rest)] if rest else [])
