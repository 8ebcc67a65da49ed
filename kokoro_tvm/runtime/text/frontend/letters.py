"""Letter-to-sound: phonemes of a word that no lexicon has, from its letters.

Every letter is read by the longest context that the model knows: the letter, then its neighbours in the
order of `context_of`. This is IGTree with a fixed order (Daelemans, van den Bosch and Weijters, "IGTree:
using trees for compression and classification in lazy learning algorithms", 1997). The model is learned from
the lexicon when a bundle is built.
"""

from __future__ import annotations

import unicodedata

from kokoro_tvm.runtime.text.frontend.alphabet import PRIMARY, SECONDARY, restress
from kokoro_tvm.runtime.text.frontend.dictionary import Dictionary

__all__ = ["LONGEST", "Letters", "context_of", "plain_letters"]

LONGEST = 9
"""Characters of the longest context."""

_EDGE = "_"
_AROUND = _EDGE * 4


def context_of(word: str, place: int, before: str) -> str:
    """What decides how the letter at `place` is read, the weightiest first.

    before: the phonemes of the letters before it; all that counts is whether one of them was stressed.
    """
    padded = _AROUND + word + _AROUND
    here = place + len(_AROUND)
    left, right = padded[here - 4 : here][::-1], padded[here + 1 : here + 5]
    stressed = "1" if PRIMARY in before else "0"
    return padded[here] + right[0] + left[0] + stressed + right[1] + left[1] + right[2] + left[2] + right[3]


def plain_letters(word: str) -> str:
    """The letters of a word as a to z, accents taken off; "" where it has others."""
    stripped = "".join(
        char for char in unicodedata.normalize("NFKD", word.lower()) if not unicodedata.combining(char)
    )
    letters = "".join(char for char in stripped if char.isalpha())
    return letters if letters.isascii() else ""


class Letters:
    """The model of one English. Threads may share it."""

    def __init__(self, contexts: Dictionary) -> None:
        """contexts: beginnings of contexts -> the phonemes of their letter."""
        self._contexts = contexts

    def read(self, word: str) -> str | None:
        """Phonemes of a word; None where it is not written in Latin letters, or nothing of it is spoken."""
        letters = plain_letters(word)
        spoken = ""
        for place in range(len(letters)):
            spoken += self._letter(context_of(letters, place, spoken))
        if PRIMARY not in spoken:
            return restress(spoken, 1 if SECONDARY in spoken else 2) or None
        head, mark, tail = spoken.partition(PRIMARY)
        return head + mark + tail.replace(PRIMARY, SECONDARY)

    def _letter(self, context: str) -> str:
        for length in range(len(context), 0, -1):
            found = self._contexts.get(context[:length])
            if isinstance(found, str):
                return found
        return ""
