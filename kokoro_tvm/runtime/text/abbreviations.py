"""Tell whether the point after an abbreviation also ends a sentence.

The point of a title never does, because a name follows it: Dr. Smith. Other abbreviations end a sentence if
the next word often starts one: in the U.S. Navy, but in the U.S. The Navy. (Kiss and Strunk, "Unsupervised
multilingual sentence boundary detection", 2006: frequent sentence starters.)
"""

from __future__ import annotations

import json
import re
from pathlib import Path

_LAST_WORD = re.compile(r"(?:[^\W\d_]\.){0,10}[^\W\d_]{1,20}$")
_NEXT_WORD = re.compile(r"([^\W\d_]{1,20}(?:['’][^\W\d_]{1,8})?)(?![\w.])")
_WORDS: dict[str, list[str]] = json.loads(
    Path(__file__).with_suffix(".json").read_text(encoding="utf-8")
)  # Python and JavaScript share the file. It has all languages: a text is split before its language is known.
_TITLES = frozenset(_WORDS["titles"])
_ABBREVIATIONS = _TITLES | frozenset(_WORDS["others"])
_BEGINNINGS = frozenset(_WORDS["beginnings"])
_DAYS = frozenset(_WORDS["dates"])
_HOURS = frozenset(("a.m", "p.m"))


def find_abbreviation(before: str) -> str | None:
    """Return the abbreviation or initial at the end of the text before a point, or None."""
    match = _LAST_WORD.search(before)
    if match is None:
        return None
    word = match[0]
    letters = word.split(".")
    is_dotted = len(letters) > 1 and max(map(len, letters)) == 1
    is_initial = len(word) == 1 and word.isupper() and word != "I"
    return word.lower() if is_dotted or is_initial or word.lower() in _ABBREVIATIONS else None


def is_sentence_start(after: str, abbreviation: str) -> bool:
    """Return whether the text after an abbreviation and its point starts a new sentence.

    Args:
        after: The next word and what follows it.
        abbreviation: As `find_abbreviation` returns it.
    """
    match = _NEXT_WORD.match(after)
    if match is None or abbreviation in _TITLES or not match[1][0].isupper():
        return False
    word = match[1].replace("’", "'")
    if abbreviation == "etc" or (abbreviation in _HOURS and word != word.upper()):
        return word.lower() not in _DAYS
    return word == word.capitalize() and word.lower() in _BEGINNINGS
