"""Words that are in no lexicon: espeak-ng if it is installed, else letter-to-sound, else spelling.

Letter-to-sound: each letter is read by the longest context that the model has: the letter, then its
neighbours in the order of `letter_context`. This is IGTree with a fixed order (Daelemans, van den Bosch and
Weijters, "IGTree: using trees for compression and classification in lazy learning algorithms", 1997). The
model is trained on the lexicon when a bundle is built.
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
"""Characters of the longest letter context."""

_EDGE = "_"
_AROUND = _EDGE * 4
_VOWELS = frozenset("aeiouy")


def letter_context(word: str, place: int, before: str) -> str:
    """Return the context of the letter at `place`, the most informative characters first.

    Args:
        word: Letters a to z.
        place: Index of the letter.
        before: Phonemes of the letters before it, of which only the stress counts.
    """
    padded = _AROUND + word + _AROUND
    here = place + len(_AROUND)
    left, right = padded[here - 4 : here][::-1], padded[here + 1 : here + 5]
    stressed = "1" if PRIMARY in before else "0"
    return padded[here] + right[0] + left[0] + stressed + right[1] + left[1] + right[2] + left[2] + right[3]


def strip_accents(word: str) -> str:
    """Return the letters of a word as a to z without accents; "" if it has others."""
    stripped = "".join(
        char for char in unicodedata.normalize("NFKD", word.lower()) if not unicodedata.combining(char)
    )
    letters = "".join(char for char in stripped if char.isalpha())
    return letters if letters.isascii() else ""


class LetterToSound:
    """Letter-to-sound model of American or British English. Thread-safe."""

    def __init__(self, contexts: Dictionary) -> None:
        """Create a model from prefixes of contexts and the phonemes of their letter."""
        self._contexts = contexts

    def read(self, word: str) -> str | None:
        """Return the phonemes of a word, or None if it has none or no Latin letters."""
        letters = strip_accents(word)
        phonemes = ""
        for place in range(len(letters)):
            phonemes += self._letter(letter_context(letters, place, phonemes))
        if PRIMARY not in phonemes:
            return restress(phonemes, 1 if SECONDARY in phonemes else 2) or None
        head, mark, tail = phonemes.partition(PRIMARY)
        return head + mark + tail.replace(PRIMARY, SECONDARY)

    def _letter(self, context: str) -> str:
        for length in range(len(context), 0, -1):
            phonemes = self._contexts.get(context[:length])
            if isinstance(phonemes, str):
                return phonemes
        return ""


class UnknownWordReader:
    """Fallback of `EnglishFrontEnd` for unknown words. Thread-safe."""

    def __init__(self, data: EnglishData, british: bool, espeak: bool = True) -> None:
        """Create a reader; `espeak` allows espeak-ng, if it is installed."""
        self._lexicon = Lexicon(data.gold, data.silver, british)
        self._letters = LetterToSound(data.letters)
        self._british = british
        self._espeak: EspeakEnglish | None = None
        self._without_espeak = not espeak

    def __call__(self, word: str) -> tuple[str, str] | None:
        """Return the phonemes of a word and their origin, or None if it has no Latin letters."""
        phonemes = self._read_by_espeak(word)
        if phonemes:
            return phonemes, "espeak"
        letters = strip_accents(word)
        if not letters:
            return None
        if not _VOWELS.isdisjoint(letters) and len(letters) > 1 and (phonemes := self._letters.read(letters)):
            return phonemes, "letters"
        phonemes = self._lexicon.spell(letters)
        return (phonemes, "spelled") if phonemes else None

    @property
    def has_espeak(self) -> bool:
        """Whether espeak-ng reads words, as far as has been tried."""
        return not self._without_espeak

    def _read_by_espeak(self, word: str) -> str | None:
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
