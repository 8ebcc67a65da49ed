"""Whether the point of an abbreviation ends a sentence as well.

A title's never does, for a name follows it: Dr. Smith. Others do where the next word begins one (Kiss and
Strunk, "Unsupervised multilingual sentence boundary detection", 2006, call these words frequent sentence
starters): in the U.S. Navy, but in the U.S. The Navy.
"""

from __future__ import annotations

import re

__all__ = ["abbreviation_in", "begins_sentence"]

_LAST_WORD = re.compile(r"(?:[^\W\d_]\.){0,10}[^\W\d_]{1,20}$")
_NEXT_WORD = re.compile(r"([^\W\d_]{1,20}(?:['’][^\W\d_]{1,8})?)(?![\w.])")
_TITLES = """
mr mrs ms dr prof rev hon gen col maj capt lt sgt cpl pres gov sen rep messrs mme mlle sra srta sig mt vs e.g
i.e cf approx z.b bzw
"""
_OTHERS = """
st sr jr etc al dept est fig figs eq no nos vol vols ch pp p ed eds inc ltd co corp bros usw ave blvd rd ft
jan feb apr jun jul aug sep sept oct nov dec ph.d
"""
_STARTERS = """
a about after all also although among an and another any as at because before both but by despite during each
even every everyone everything few finally first for from furthermore he he'd he'll he's hence her here his
how however i i'd i'll i'm i've if in indeed instead it it'd it'll it's its last later like many meanwhile
moreover most my neither nevertheless next nobody none nor not nothing now of on once one only or other our
over perhaps several she she'd she'll she's since so some soon still such that that's the their then there
there's therefore these they they'd they'll they're they've this those though three through thus to today two
under unless until we we'd we'll we're we've what what's when where whether which while who why with without
yet you you'd you'll you're you've your
"""
_DATES = """
monday tuesday wednesday thursday friday saturday sunday january february march april may june july august
september october november december eastern pacific central mountain greenwich
"""
_NAMED_AFTER = frozenset(_TITLES.split())
_ABBREVIATIONS = _NAMED_AFTER | frozenset(_OTHERS.split())
_BEGINNINGS = frozenset(_STARTERS.split())
_DAYS = frozenset(_DATES.split())
_HOURS = frozenset(("a.m", "p.m"))


def abbreviation_in(before: str) -> str | None:
    """The abbreviation, or the initial, that a text ends with in front of its point; None for none."""
    found = _LAST_WORD.search(before)
    if found is None:
        return None
    word = found[0]
    letters = word.split(".")
    dotted = len(letters) > 1 and max(map(len, letters)) == 1
    initial = len(word) == 1 and word.isupper() and word != "I"
    return word.lower() if dotted or initial or word.lower() in _ABBREVIATIONS else None


def begins_sentence(after: str, abbreviation: str) -> bool:
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
