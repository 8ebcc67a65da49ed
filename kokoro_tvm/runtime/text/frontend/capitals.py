"""Words in capitals among words in capitals, as in a heading, are read as in lower case.

An initialism is not: a word that the lexicon has in capitals (NATO) or not at all (HTML) does not make its
neighbours shouted, and keeps its part of speech.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

_APOSTROPHES = dict.fromkeys(map(ord, "'‘’"))
_NO_PRONOUN_AFTER = ("DT", "JJ", "PRP$")
_ADVERBS = ("TODAY", "TONIGHT", "TOMORROW", "YESTERDAY")  # which are tagged as nouns


def find_shouted_words(texts: Sequence[str], is_initialism: Callable[[str], bool]) -> list[bool]:
    """Return for each word whether it is in a run of words in capitals, one of which is no initialism.

    Args:
        texts: Words of a text.
        is_initialism: Whether a word in capitals may be more than a word in lower case.
    """
    shouted = [False] * len(texts)
    run: list[int] = []
    for place, text in enumerate([*texts, "end"]):
        letters = text.translate(_APOSTROPHES)
        if letters.isalpha() and letters == letters.upper() != letters.lower():
            run.append(place)
        elif any(map(str.isalnum, text)):
            is_shouted = len(run) > 1 and any(
                len(texts[index]) > 1 and not is_initialism(texts[index]) for index in run
            )
            for index in run if is_shouted else []:
                shouted[index] = True
            run = []
    return shouted


def choose_shouted_tags(
    texts: Sequence[str], lowered_tags: Sequence[str], tags: Sequence[str], is_shouted: Sequence[bool]
) -> list[str]:
    """Choose each tag from those of the lowered text and those of the text as written.

    A pronoun after an article or before a noun is none: THE US ARMY, an IT FIRM, but GIVE US MONEY.
    """
    chosen = list(tags)
    for place, shouted_word in enumerate(is_shouted):
        before = lowered_tags[place - 1] if place else ""
        is_last = place + 1 == len(lowered_tags) or texts[place + 1] in _ADVERBS
        after = "" if is_last else lowered_tags[place + 1]
        is_noun = before in _NO_PRONOUN_AFTER or (after.startswith("NN") and not before.startswith("VB"))
        if shouted_word and not (lowered_tags[place] == "PRP" and is_noun):
            chosen[place] = lowered_tags[place]
    return chosen
