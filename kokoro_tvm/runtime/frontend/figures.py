"""Numbers written in figures, as phonemes: years, ranks, money, telephone numbers, decimals.

Which way a number is read is misaki's choice (hexgrad, Apache-2.0; misaki/en.py).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from kokoro_tvm.runtime.frontend.lexicon import Lexicon
from kokoro_tvm.runtime.frontend.numerals import LARGEST, cardinal, decimal, ordinal, year

__all__ = ["CURRENCIES", "Figures", "is_figures", "plain_figures"]

CURRENCIES = {"$": ("dollar", "cent"), "£": ("pound", "pence"), "€": ("euro", "cent")}
"""Sign -> the unit and its hundredth part, as they are for one."""

_RANKS = ("st", "nd", "rd", "th")
_ENDINGS = ("ing", "'d", "ed", "'s", *_RANKS, "s")
_MOST_FIGURES = len(str(LARGEST))


@dataclass(frozen=True)
class Figures:
    """A number as it is written, and what stands around it.

    text: figures with commas and points, a minus sign perhaps, and an ending ("1980s", "3rd"). begins:
    whether it begins a word, rather than standing inside one ("B-52"). currency: the sign before it, "" for
    none. flags: wishes of a link: "a" for "a hundred", "&" for "and" in full, "n" for its short form.
    """

    text: str
    begins: bool = True
    currency: str = ""
    flags: str = ""

    def read(self, lexicon: Lexicon) -> str | None:
        """Its phonemes; None where it holds nothing to read."""
        found = re.search(r"(?<![a-z'])[a-z']+$", self.text)
        ending = found.group() if found else ""
        number = self.text.removesuffix(ending)
        sign = ["minus"] if number.startswith("-") else []
        spoken = _Spoken(lexicon, self.flags)
        spoken.say(sign)
        self._say(spoken, number.removeprefix("-"), ending, bool(sign))
        phonemes = " ".join(spoken.words)
        if not phonemes:
            return None
        if ending in ("s", "'s"):
            return lexicon.plural(phonemes)
        if ending in ("ed", "'d"):
            return lexicon.past(phonemes)
        return lexicon.progressive(phonemes) if ending == "ing" else phonemes

    def _say(self, spoken: _Spoken, number: str, ending: str, signed: bool) -> None:
        bare = number.replace(",", "")
        if _all_figures(number) and ending in _RANKS and len(number) <= _MOST_FIGURES:
            spoken.say(ordinal(int(number)))
        elif not signed and len(number) == 4 and self.currency not in CURRENCIES and _all_figures(number):
            spoken.say(year(int(number)))
        elif not self.begins and "." not in number:
            _say_code(spoken, bare)
        elif number.count(".") > 1 or not self.begins:
            for index, part in enumerate(bare.split(".")):
                _say_part(spoken, part, first=index == 0)
        elif self.currency in CURRENCIES and _is_amount(number):
            _say_money(spoken, bare, *CURRENCIES[self.currency])
        elif len(bare.partition(".")[0]) > _MOST_FIGURES:
            spoken.figures(bare)
        elif "." not in number:
            rank = ending in _RANKS and not _all_figures(number)
            spoken.say((ordinal if rank else cardinal)(int(bare)))
        elif bare.startswith("."):
            spoken.say(["point"])
            spoken.figures(bare[1:])
        else:
            spoken.say(decimal(bare))


class _Spoken:
    """The words of a number as they are found, in phonemes."""

    def __init__(self, lexicon: Lexicon, flags: str) -> None:
        self._lexicon = lexicon
        self._flags = flags
        self.words: list[str] = []

    def say(self, words: Iterable[str], first: bool = True) -> None:
        """first: whether "one" may be "a", if that was wished for."""
        words = list(words)
        for index, word in enumerate(words):
            if word == "and" and "&" not in self._flags:
                if "n" in self._flags and self.words:
                    self.words[-1] += "ən"
            elif word == "one" and first and index == 0 and len(words) > 1 and "a" in self._flags:
                self.words.append("ə")
            else:
                self.add(word, -2 if word == "point" else None)

    def add(self, word: str, stress: float | None = None) -> None:
        """A word of the lexicon."""
        self.words.append(self._lexicon.look_up(word, stress=stress) or "")

    def number(self, figures: str, first: bool = True) -> None:
        """A whole number; one too large to have a name is read figure by figure."""
        if len(figures) > _MOST_FIGURES:
            self.figures(figures)
        else:
            self.say(cardinal(int(figures)), first)

    def figures(self, figures: str) -> None:
        """One figure after the other; a point by its name."""
        for figure in figures:
            self.say(["point"] if figure == "." else cardinal(int(figure)), first=False)

    def units(self, word: str) -> None:
        """A word of the lexicon with the ending -s."""
        self.words.append(self._lexicon.plural(self._lexicon.look_up(word) or ""))


def is_figures(word: str, begins: bool) -> bool:
    """Whether a word is a number in figures, perhaps with an ending; a minus sign only where `begins`."""
    if not any(map(_all_figures, word)):
        return False
    ending = next((ending for ending in _ENDINGS if word.endswith(ending)), "")
    number = word.removesuffix(ending)
    return all(_all_figures(c) or c in ",." or (begins and i == 0 and c == "-") for i, c in enumerate(number))


def plain_figures(word: str) -> str:
    """`word` with the figures of every script, and those set high or low, as 0 to 9."""
    return word if word.isascii() else "".join(_plain(char) for char in word)


def _plain(char: str) -> str:
    if not char.isdigit():
        return char
    value = unicodedata.numeric(char)
    return str(int(value)) if value == int(value) else char


def _say_code(spoken: _Spoken, number: str) -> None:
    """Inside a word: three figures as in "seven forty seven", four and more one by one."""
    if number[0] == "0" or len(number) > 3:
        spoken.figures(number)
    elif len(number) == 3 and not number.endswith("00"):
        spoken.number(number[0])
        if number[1] == "0":
            spoken.add("O", -2)
            spoken.number(number[2], first=False)
        else:
            spoken.number(number[1:], first=False)
    else:
        spoken.number(number)


def _say_part(spoken: _Spoken, part: str, first: bool) -> None:
    """One part of "192.168.0.1"."""
    if not part:
        return
    if part[0] == "0" or (len(part) != 2 and any(figure != "0" for figure in part[1:])):
        spoken.figures(part)
    else:
        spoken.number(part, first)


def _say_money(spoken: _Spoken, number: str, unit: str, hundredth: str) -> None:
    parts = list(_amounts(number, unit, hundredth))
    for index, (amount, name) in enumerate(parts):
        if index > 0:
            spoken.add("and")
        spoken.number(amount, first=index == 0)
        if int(amount) != 1 and name != "pence":
            spoken.units(name)
        else:
            spoken.add(name)


def _amounts(number: str, unit: str, hundredth: str) -> Iterator[tuple[str, str]]:
    """What there is of the unit and of its hundredth part; of nothing at all, the unit."""
    whole, _, rest = number.partition(".")
    if int(whole or 0) or not int(rest or 0):
        yield whole or "0", unit
    if int(rest or 0):
        yield rest, hundredth


def _is_amount(number: str) -> bool:
    """Whether what stands behind the point can be cents; "$1.250" is read as a decimal."""
    return number.count(".") == 0 or (number.count(".") == 1 and len(number.partition(".")[2]) < 3)


def _all_figures(text: str) -> bool:
    return text.isascii() and text.isdigit()
