"""St. and Dr. by what stands around them: Saint John or Main Street, Doctor Hall or Mill Drive."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kokoro_tvm.runtime.frontend.source import Edit

__all__ = ["streets"]

_ROADS = {
    "St": "Street", "Dr": "Drive", "Ave": "Avenue", "Av": "Avenue", "Blvd": "Boulevard", "Rd": "Road",
    "Ln": "Lane", "Hwy": "Highway", "Sq": "Square", "Pkwy": "Parkway",
}  # fmt: skip
_ROAD = re.compile(r"(?<!\w)(?P<short>St|Dr|Ave|Av|Blvd|Rd|Ln|Hwy|Sq|Pkwy)(?P<dot>\.)?(?!\w|\.)")
_BEFORE = re.compile(r"(?P<word>\d{1,3}(?:st|nd|rd|th)|[^\W\d_][\w'’]{0,30}) $")
_AFTER = re.compile(r" (?P<word>[A-Z][\w'’]*)")
# Capitalised, and no name of a street: what begins a sentence, or has a saint behind it.
_NOT_BEFORE = """
A An And As At But By For From He Her His I If In It My Near No Of On Or Our She That The Their They
This To We When Where With You Mount Port Fort East West North South Lake Sault Bay New Saint Dr Mr
Mrs Ms Prof Ask Call Tell See Visit Is Was Said
"""
_NO_STREETS = frozenset(_NOT_BEFORE.split())
_BEGINNINGS = "He She It They We I You The A An This That These Those In On At But And Then There"
_SENTENCES = frozenset(_BEGINNINGS.split())


def streets(text: str) -> Iterator[Edit]:
    """A name before it makes it a street, a name behind it a saint; else it stays as it is."""
    for match in _ROAD.finditer(text):
        before = _BEFORE.search(text, max(0, match.start() - 33), match.start())
        after = _AFTER.match(text, match.end())
        follows = after["word"] if after else ""
        ends = match.end() == len(text) or follows in _SENTENCES
        name = before["word"] if before else ""
        named = bool(name) and (name[0].isupper() or name[0].isdigit()) and name not in _NO_STREETS
        short = match["short"]
        if named and (ends or short != "Dr" or not follows):
            spoken = _ROADS[short] + ("." if match["dot"] and ends else "")
        elif short == "St" and follows and follows not in _SENTENCES:
            spoken = "Saint"
        else:
            continue
        yield Edit(*match.span(), spoken)
