"""Unquoted YAML words: JSON's values, text, or a refusal where YAML readers disagree about the meaning."""

from __future__ import annotations

import math
import re

from kokoro_tvm.common.words import shorten

__all__ = ["Scalar", "ScalarError", "plain"]

Scalar = bool | int | float | str | None

# Digits are taken for good (*+, ++): a word of 100,000 digits and a letter is refused in one pass.
_INT = re.compile(r"-?(0|[1-9][0-9]*+)")
_FLOAT = re.compile(r"-?(0|[1-9][0-9]*+)(\.[0-9]++)?([eE][-+]?[0-9]++)?")
_WORDS: dict[str, bool | None] = {"true": True, "false": False, "null": None}
_BOOLEAN_TRAPS = {"y", "n", "yes", "no", "on", "off", "true", "false"}
_NOT_FINITE = re.compile(r"[-+]?\.?(nan|inf|infinity)", re.IGNORECASE)
# Read as a number by some YAML reader, but not by JSON: octal, hexadecimal, base 60, 1_000, +1, .5, 5.
_NUMBER_TRAP = re.compile(
    r"[-+]?(0[xX][0-9a-fA-F_]+|0[oO][0-7_]+|0[bB][01_]+|[0-9][0-9_]*+(:[0-9_]++)++(\.[0-9_]*+)?"
    r"|[0-9][0-9_]*+(\.[0-9_]*+)?([eE][-+]?[0-9]++)?|\.[0-9][0-9_]*+([eE][-+]?[0-9]++)?)"
)
_DATE = re.compile(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([Tt ].*)?")
_LARGEST = 2**53  # whole numbers up to here are the same in every JSON reader


class ScalarError(ValueError):
    """The word has no single meaning here; the message says what to write."""


def plain(word: str) -> Scalar:
    """The value of an unquoted YAML word.

    Raises ScalarError for words YAML 1.1 and 1.2 read differently, for NaN and infinity, for dates and for
    numbers past 2**53 or the range of float64.
    """
    if word in _WORDS:
        return _WORDS[word]
    if word == "~":
        raise ScalarError("`~` is one of several spellings of nothing: write null")
    if word.lower() in _BOOLEAN_TRAPS:
        wanted = "true" if word.lower() in {"y", "yes", "on", "true"} else "false"
        raise ScalarError(
            f"`{word}` is a boolean to some YAML readers and text to others: "
            f'write {wanted}, or "{word}" for text'
        )
    if word.lower() == "null":
        raise ScalarError(f'`{word}` is nothing to some YAML readers: write null, or "{word}" for text')
    if _NOT_FINITE.fullmatch(word):
        raise ScalarError(f"`{word}` is not a finite number: write a plain decimal such as 0.5")
    if _FLOAT.fullmatch(word):
        return _number(word)
    if _DATE.fullmatch(word):
        raise ScalarError(f"`{shorten(word)}` is a date to some YAML readers: put it in quotes for text")
    if _NUMBER_TRAP.fullmatch(word):
        raise ScalarError(
            f"`{shorten(word)}` is read as different numbers by different YAML readers: "
            "write a plain decimal such as 512 or 0.5, or put it in quotes for text"
        )
    return word


def _number(word: str) -> int | float:
    if _INT.fullmatch(word):
        if len(word) > 17 or abs(int(word)) > _LARGEST:
            raise ScalarError(f"`{shorten(word)}` is too large a number (at most 2**53)")
        return int(word)
    value = float(word) if len(word) <= 400 else math.inf
    if not math.isfinite(value):
        raise ScalarError(f"`{shorten(word)}` is too large a number for a 64-bit float")
    return value
