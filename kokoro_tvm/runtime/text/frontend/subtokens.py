"""Cut a word where a lexicon may know its parts: at capitals, digits, hyphens and apostrophes.

The places are those of misaki 0.9.4 (hexgrad, Apache-2.0; misaki/en.py), which needs the package `regex` for
character classes. Here a word is first written as its classes, one letter per character.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

# U capital, l small letter, o letter without case, 9 figure, . and , as they are, - or _, ' any apostrophe,
# x anything else.
_LETTER = "[Ulo]"
_PARTS = re.compile(
    "^'+"
    "|U(?=Ul)"
    "|(?:^-)?(?:9?[,.]?9)+"
    "|[-_]+"
    "|'{2,}"
    f"|{_LETTER}*?(?:'{_LETTER})*?l(?=U)"
    f"|{_LETTER}+(?:'{_LETTER})*"
    f"|[.,x]"
    "|'+$"
)
_CLASSES = {"Lu": "U", "Ll": "l", "Lt": "o", "Lm": "o", "Lo": "o", "Nd": "9"}
_THEMSELVES = {"-": "-", "_": "_", ".": ".", ",": ",", "'": "'", "‘": "'", "’": "'"}


@lru_cache(2048)
def split_word(word: str) -> tuple[tuple[int, str], ...]:
    """Return (place, text) of the parts of a word; an apostrophe between digits belongs to none."""
    classes = "".join(_THEMSELVES.get(char) or _CLASSES.get(unicodedata.category(char), "x") for char in word)
    return tuple((match.start(), word[match.start() : match.end()]) for match in _PARTS.finditer(classes))
