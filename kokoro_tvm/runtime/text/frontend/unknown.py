"""Words that no lexicon has: by espeak-ng where it is installed, else by letter-to-sound, else spelled."""

from __future__ import annotations

from kokoro_tvm.runtime.text.frontend.data import EnglishData
from kokoro_tvm.runtime.text.frontend.espeak import PACKAGES, EspeakEnglish, one_at_a_time
from kokoro_tvm.runtime.text.frontend.letters import Letters, plain_letters
from kokoro_tvm.runtime.text.frontend.lexicon import Lexicon

__all__ = ["PACKAGES", "UnknownWords"]

_VOWELS = frozenset("aeiouy")


class UnknownWords:
    """What `English` asks for words it does not know. Threads may share it."""

    def __init__(self, data: EnglishData, british: bool, espeak: bool = True) -> None:
        """espeak: whether espeak-ng is used where it is installed."""
        self._lexicon = Lexicon(data.gold, data.silver, british)
        self._letters = Letters(data.letters)
        self._british = british
        self._espeak: EspeakEnglish | None = None
        self._without_espeak = not espeak

    def __call__(self, word: str) -> tuple[str, str] | None:
        """Phonemes of a word and where they are from; None where it is not written in Latin letters."""
        spoken = self._by_espeak(word)
        if spoken:
            return spoken, "espeak"
        letters = plain_letters(word)
        if not letters:
            return None
        if not _VOWELS.isdisjoint(letters) and len(letters) > 1 and (read := self._letters.read(letters)):
            return read, "letters"
        spelled = self._lexicon.spell(letters)
        return (spelled, "spelled") if spelled else None

    def _by_espeak(self, word: str) -> str | None:
        if self._without_espeak:
            return None
        with one_at_a_time():
            if self._espeak is None:
                try:
                    self._espeak = EspeakEnglish(self._british)
                except ImportError:
                    self._without_espeak = True
                    return None
            return self._espeak(word)
