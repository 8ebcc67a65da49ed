"""Whether the point of an abbreviation ends a sentence as well.

A title's never does, for a name follows it: Dr. Smith. Others do where the next word begins one (Kiss and
Strunk, "Unsupervised multilingual sentence boundary detection", 2006, call these words frequent sentence
starters): in the U.S. Navy, but in the U.S. The Navy.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

__all__ = ["find_abbreviation", "is_sentence_start"]

_LAST_WORD = re.compile(r"(?:[^\W\d_]\.){0,10}[^\W\d_]{1,20}$")
_NEXT_WORD = re.compile(r"([^\W\d_]{1,20}(?:['’][^\W\d_]{1,8})?)(?![\w.])")
_WORDS: dict[str, list[str]] = json.loads(
    Path(__file__).with_suffix(".json").read_text(encoding="utf-8")
)  # one place for Python and JavaScript, for all languages: sentences are found before a language is known
_NAMED_AFTER = frozenset(_WORDS["titles"])
_ABBREVIATIONS = _NAMED_AFTER | frozenset(_WORDS["others"])
_BEGINNINGS = frozenset(_WORDS["beginnings"])
_DAYS = frozenset(_WORDS["dates"])
_HOURS = frozenset(("a.m", "p.m"))


def find_abbreviation(before: str) -> str | None:
    """The abbreviation, or the initial, that a text ends with in front of its point; None for none."""
    found = _LAST_WORD.search(before)
    if found is None:
        return None
    word = found[0]
    letters = word.split(".")
    dotted = len(letters) > 1 and max(map(len, letters)) == 1
    initial = len(word) == 1 and word.isupper() and word != "I"
    return word.lower() if dotted or initial or word.lower() in _ABBREVIATIONS else None


def is_sentence_start(after: str, abbreviation: str) -> bool:
    """Whether a sentence begins with the word that `after` begins with, behind an abbreviation and its point.

    after: the word and what follows it.
    """
    found = _NEXT_WORD.match(after)
    if found is None or abbreviation in _NAMED_AFTER or not found[1][0].isupper():
        return False
    word = found[1].replace("’", "'")
    if abbreviation == "etc" or (abbreviation in _HOURS and word != word.upper()):
        return word.lower() not in _DAYS
    return word == word.capitalize() and word.lower() in _BEGINNINGS
