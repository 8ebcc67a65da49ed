"""Words that misaki's lexicon lacks: dictionary of names, espeak-ng, letter-to-sound, or spelling."""

from __future__ import annotations

import re
import unicodedata

from kokoro_tvm.runtime.notices import quoted, warn
from kokoro_tvm.runtime.text.frontend.data import EnglishData
from kokoro_tvm.runtime.text.frontend.espeak import EspeakEnglish
from kokoro_tvm.runtime.text.frontend.espeak_process import EspeakError, exclusive_espeak
from kokoro_tvm.runtime.text.frontend.lexicon import FollowingSound, Lexicon

_VOWELS = frozenset("aeiouy")
_POSSESSIVE = re.compile(r"['’][sS]\Z")


def strip_accents(word: str) -> str:
    """Return the letters of a word as a to z without accents; "" if it has others."""
    stripped = "".join(
        char for char in unicodedata.normalize("NFKD", word.lower()) if not unicodedata.combining(char)
    )
    letters = "".join(char for char in stripped if char.isalpha())
    return letters if letters.isascii() else ""


class UnknownWordReader:
    """Fallback of `EnglishFrontEnd` for unknown words. Thread-safe."""

    def __init__(self, data: EnglishData, british: bool, espeak: bool = True) -> None:
        """Create a reader; `espeak` allows espeak-ng, if it is installed."""
        self._lexicon = Lexicon(data.gold, data.silver, british)
        self._names = Lexicon(data.names, data.names, british)
        self._letters = data.letters
        self._british = british
        self._espeak: EspeakEnglish | None = None
        self._without_espeak = not espeak

    def __call__(self, word: str) -> tuple[str, str] | None:
        """Return the phonemes of a word and their origin, or None if it has no Latin letters."""
        if phonemes := self._read_name(word):
            return phonemes, "names"
        if phonemes := self._read_by_espeak(word):
            return phonemes, "espeak"
        parts = word.split("-")
        readings = [reading for part in parts if (reading := self._read_part(part)) is not None]
        if len(readings) < len(parts):
            return self._read_part(word)
        guessed = [origin for _, origin in readings if origin != "names"]
        return "".join(phonemes for phonemes, _ in readings), guessed[0] if guessed else "names"

    def _read_name(self, word: str) -> str | None:
        """Return the phonemes of a name or its stem by the pronunciation dictionary, or None."""
        stem = _POSSESSIVE.sub("", word)
        letters = strip_accents(stem) + ("" if stem == word else "'s")
        return self._names.read_entry(letters, "", FollowingSound(), None)

    def _read_part(self, word: str) -> tuple[str, str] | None:
        """Read a part between hyphens without espeak-ng."""
        stem = _POSSESSIVE.sub("", word)
        if stem != word and (reading := self._read_stem(stem)) is not None:
            return self._lexicon.plural(reading[0]), reading[1]
        return self._read_stem(word)

    def _read_stem(self, word: str) -> tuple[str, str] | None:
        letters = strip_accents(word)
        if not letters:
            return None
        if phonemes := self._lexicon.read_entry(letters, "", FollowingSound(), None) or self._read_name(word):
            return phonemes, "names"
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
