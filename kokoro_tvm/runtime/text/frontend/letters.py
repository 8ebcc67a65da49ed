"""Words that no lexicon has: by espeak-ng where it is installed, else by letter-to-sound, else spelled.

Letter-to-sound: every letter is read by the longest context that the model knows: the letter, then its
neighbours in the order of `letter_context`. This is IGTree with a fixed order (Daelemans, van den Bosch and
Weijters, "IGTree: using trees for compression and classification in lazy learning algorithms", 1997). The
model is learned from the lexicon when a bundle is built.
"""

from __future__ import annotations

import unicodedata

from kokoro_tvm.runtime.notices import quoted, warn
from kokoro_tvm.runtime.text.frontend.alphabet import PRIMARY, SECONDARY, restress
from kokoro_tvm.runtime.text.frontend.data import EnglishData
from kokoro_tvm.runtime.text.frontend.dictionary import Dictionary
from kokoro_tvm.runtime.text.frontend.espeak import EspeakEnglish, EspeakError, exclusive_espeak
from kokoro_tvm.runtime.text.frontend.lexicon import Lexicon

__all__ = ["LONGEST_CONTEXT", "LetterToSound", "UnknownWordReader", "letter_context", "strip_accents"]

LONGEST_CONTEXT = 9
"""Characters of the longest context."""

_EDGE = "_"
_AROUND = _EDGE * 4
_VOWELS = frozenset("aeiouy")


def letter_context(word: str, place: int, before: str) -> str:
    """What decides how the letter at `place` is read, the weightiest first.

    before: the phonemes of the letters before it; all that counts is whether one of them was stressed.
    """
    padded = _AROUND + word + _AROUND
    here = place + len(_AROUND)
    left, right = padded[here - 4 : here][::-1], padded[here + 1 : here + 5]
    stressed = "1" if PRIMARY in before else "0"
    return padded[here] + right[0] + left[0] + stressed + right[1] + left[1] + right[2] + left[2] + right[3]


def strip_accents(word: str) -> str:
    """The letters of a word as a to z, accents taken off; "" where it has others."""
    stripped = "".join(
        char for char in unicodedata.normalize("NFKD", word.lower()) if not unicodedata.combining(char)
    )
    letters = "".join(char for char in stripped if char.isalpha())
    return letters if letters.isascii() else ""


class LetterToSound:
    """The model of one English. Threads may share it."""

    def __init__(self, contexts: Dictionary) -> None:
        """contexts: beginnings of contexts -> the phonemes of their letter."""
        self._contexts = contexts

    def read(self, word: str) -> str | None:
        """Phonemes of a word; None where it is not written in Latin letters, or nothing of it is spoken."""
        letters = strip_accents(word)
        spoken = ""
        for place in range(len(letters)):
            spoken += self._letter(letter_context(letters, place, spoken))
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


class UnknownWordReader:
    """What `English` asks for words it does not know. Threads may share it."""

    def __init__(self, data: EnglishData, british: bool, espeak: bool = True) -> None:
        """espeak: whether espeak-ng is used where it is installed."""
        self._lexicon = Lexicon(data.gold, data.silver, british)
        self._letters = LetterToSound(data.letters)
        self._british = british
        self._espeak: EspeakEnglish | None = None
        self._without_espeak = not espeak

    def __call__(self, word: str) -> tuple[str, str] | None:
        """Phonemes of a word and where they are from; None where it is not written in Latin letters."""
        spoken = self._by_espeak(word)
        if spoken:
            return spoken, "espeak"
        letters = strip_accents(word)
        if not letters:
            return None
        if not _VOWELS.isdisjoint(letters) and len(letters) > 1 and (read := self._letters.read(letters)):
            return read, "letters"
        spelled = self._lexicon.spell(letters)
        return (spelled, "spelled") if spelled else None

    @property
    def has_espeak(self) -> bool:
        """Whether espeak-ng reads words, as far as has been tried."""
        return not self._without_espeak

    def _by_espeak(self, word: str) -> str | None:
        if self._without_espeak:
            return None
        with exclusive_espeak():
            if self._espeak is None:
                try:
                    self._espeak = EspeakEnglish(self._british)
                except (ImportError, EspeakError) as error:
                    self._without_espeak = True
                    if isinstance(error, EspeakError):
                        warn(f"{error} Words that no lexicon has are read by their letters.")
                    return None
            try:
                return self._espeak(word)
            except EspeakError as error:
                warn(f"{error} It was {quoted(word)}, which is read by its letters.")
                return None
