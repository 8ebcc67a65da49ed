"""Words in capitals among words in capitals, as in a heading, are the same words as in small letters.

An initialism stays one: what the lexicon has in capitals (NATO), or does not have at all (HTML), makes
nothing a shout, and is read as the part of speech that it has there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

__all__ = ["choose_shouted_tags", "find_shouted_words"]

_APOSTROPHES = dict.fromkeys(map(ord, "'‘’"))
_NO_PRONOUN_AFTER = ("DT", "JJ", "PRP$")
_ADVERBS = ("TODAY", "TONIGHT", "TOMORROW", "YESTERDAY")  # which are tagged as nouns


def find_shouted_words(texts: Sequence[str], is_initialism: Callable[[str], bool]) -> list[bool]:
    """Which pieces of a text are words of a run of words in capitals, one of which is no initialism.

    is_initialism: whether a word in capitals may be more than a word written large.
    """
    large = [False] * len(texts)
    run: list[int] = []
    for place, text in enumerate([*texts, "end"]):
        letters = text.translate(_APOSTROPHES)
        if letters.isalpha() and letters == letters.upper() != letters.lower():
            run.append(place)
        elif any(map(str.isalnum, text)):
            shouted = len(run) > 1 and any(len(texts[at]) > 1 and not is_initialism(texts[at]) for at in run)
            for at in run if shouted else []:
                large[at] = True
            run = []
    return large


def choose_shouted_tags(
    texts: Sequence[str], small: Sequence[str], tags: Sequence[str], large: Sequence[bool]
) -> list[str]:
    """Tags of pieces, given those that they have in small letters and those as they stand.

    What would be a pronoun where none stands, after an article or before a noun, is none: THE US ARMY, an IT
    FIRM, but GIVE US MONEY, WITH US TODAY.
    """
    found = list(tags)
    for place, shouted in enumerate(large):
        before = small[place - 1] if place else ""
        last = place + 1 == len(small) or texts[place + 1] in _ADVERBS
        after = "" if last else small[place + 1]
        noun = before in _NO_PRONOUN_AFTER or (after.startswith("NN") and not before.startswith("VB"))
        if shouted and not (small[place] == "PRP" and noun):
            found[place] = small[place]
    return found
