"""Respellings of English words, such as kuh-TAR, to phonemes of misaki's alphabet.

The key is that of Wikipedia's "Help:Pronunciation respelling key", without its rarer forms. Syllables are
joined by hyphens, and the one in capitals has the stress.
"""

from __future__ import annotations

import re

from kokoro_tvm.common.errors import InputError
from kokoro_tvm.common.words import shorten

_VOWELS = {
    "air": "ɛɹ", "arr": "æɹ", "eer": "ɪɹ", "err": "ɛɹ", "eye": "I", "ire": "Iɹ", "oor": "ʊɹ", "ohr": "ɔɹ",
    "our": "Wɹ", "ow": "W", "ah": "ɑ", "ar": "ɑɹ", "aw": "ɔ", "ay": "A", "ee": "i", "eh": "ɛ", "er": "ɜɹ",
    "ew": "ju",
    "ih": "ɪ", "oh": "O", "oo": "u", "or": "ɔɹ", "oy": "Y", "uh": "ʌ", "ur": "ɜɹ", "uu": "ʊ",
    "a": "æ", "e": "ɛ", "i": "ɪ", "o": "ɑ", "u": "ʌ", "y": "I",
}  # fmt: skip
_WEAK = {"uh": "ə", "er": "əɹ", "ur": "əɹ", "u": "ə"}  # without stress
_CONSONANTS = {
    "tch": "ʧ", "ch": "ʧ", "dh": "ð", "kh": "k", "ng": "ŋ", "nk": "ŋk", "sh": "ʃ", "ss": "s", "th": "θ",
    "wh": "w", "zh": "ʒ", "b": "b", "d": "d", "f": "f", "g": "ɡ", "h": "h", "j": "ʤ", "k": "k", "l": "l",
    "m": "m", "n": "n", "p": "p", "r": "ɹ", "s": "s", "t": "t", "v": "v", "w": "w", "y": "j", "z": "z",
}  # fmt: skip


def _any_of(sounds: dict[str, str]) -> str:
    """Return the pattern of the longest of some spellings; `y` is a consonant before a vowel alone."""
    spellings = sorted(sounds, key=len, reverse=True)
    return "|".join("y(?=[aeiou])" if sounds[s] == "j" else s for s in spellings)


_VOWEL = re.compile(_any_of(_VOWELS))
_CONSONANT = re.compile(_any_of(_CONSONANTS))


def is_respelling(text: str) -> bool:
    """Return whether an entry of a lexicon is a respelling: only these have hyphens."""
    return "-" in text


def phonemize_respelling(text: str) -> str:
    """Return the phonemes of a respelling, such as kuh-TAR, or KAT- for a word of one syllable.

    Raises:
        InputError: A syllable cannot be read, or several have the stress.
    """
    return " ".join(map(_phonemize_word, text.split()))


def _phonemize_word(word: str) -> str:
    syllables = [syllable for syllable in word.split("-") if syllable]
    stressed = [number for number, syllable in enumerate(syllables) if syllable.isupper()]
    if len(syllables) == 1:
        stressed = [0]
    if len(stressed) != 1:
        raise InputError(
            f"{shorten(word)!r} should have one syllable in capitals, the one with the stress: kuh-TAR"
        )
    return "".join(_phonemize_syllable(s, number == stressed[0]) for number, s in enumerate(syllables))


def _phonemize_syllable(syllable: str, is_stressed: bool) -> str:
    letters = syllable.lower()
    onset, place = _read_consonants(letters, 0)
    vowel = _VOWEL.match(letters, place)
    coda, end = ("", 0) if vowel is None else _read_consonants(letters, vowel.end())
    if vowel is None or end < len(letters):
        raise InputError(
            f"the syllable {shorten(syllable)!r} of a respelling cannot be read: write consonants, one vowel "
            f"({', '.join(_VOWELS)}) and consonants"
        )
    sound = _VOWELS[vowel[0]] if is_stressed else _WEAK.get(vowel[0], _VOWELS[vowel[0]])
    glide, sound = ("j", sound[1:]) if sound.startswith("j") else ("", sound)
    return f"{onset}{glide}{'ˈ' if is_stressed else ''}{sound}{coda}"


def _read_consonants(letters: str, place: int) -> tuple[str, int]:
    """Return the phonemes of the consonants from a place on, and the place after them."""
    sounds = ""
    while match := _CONSONANT.match(letters, place):
        sounds, place = sounds + _CONSONANTS[match[0]], match.end()
    return sounds, place
