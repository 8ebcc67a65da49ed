"""The phonemes of both Englishes, as misaki's voices know them, and how stress is put on them.

The alphabet and the rules are those of misaki 0.9.4 (hexgrad, Apache-2.0).
"""

from __future__ import annotations

__all__ = [
    "CONSONANTS",
    "PRIMARY",
    "SECONDARY",
    "VOWELS",
    "restress",
    "sound_weight",
]

PRIMARY = "ˈ"
SECONDARY = "ˌ"
VOWELS = frozenset("AIOQWYaiuæɑɒɔəɛɜɪʊʌᵻ")
CONSONANTS = frozenset("bdfhjklmnpstvwzðŋɡɹɾʃʒʤʧθ")

_DIPHTHONGS = frozenset("AIOQWYʤʧ")  # two symbols' worth of sound in one


def sound_weight(phonemes: str) -> int:
    """How long phonemes take to say: 2 for a diphthong or an affricate, 1 for every other symbol."""
    return sum(2 if symbol in _DIPHTHONGS else 1 for symbol in phonemes)


def restress(phonemes: str, stress: float | None) -> str:
    """`phonemes` with the requested stress.

    Below -1: none. -1: the primary becomes secondary. -0.5 and 0: likewise, where there is one. 0 to 1: a
    word without stress gets a secondary one. From 1 on: a secondary becomes the primary. Above 1: a word
    without stress gets a primary one. None: as it is.
    """
    if stress is None:
        return phonemes
    primary, secondary = PRIMARY in phonemes, SECONDARY in phonemes
    if stress < -1:
        return phonemes.replace(PRIMARY, "").replace(SECONDARY, "")
    if stress == -1 or (stress in (0, -0.5) and primary):
        return phonemes.replace(SECONDARY, "").replace(PRIMARY, SECONDARY)
    if not primary and not secondary and stress >= 0:
        vowel = next((place for place, symbol in enumerate(phonemes) if symbol in VOWELS), None)
        mark = "" if vowel is None else PRIMARY if stress > 1 else SECONDARY
        return phonemes[:vowel] + mark + phonemes[vowel or 0 :] if mark else phonemes
    if stress >= 1 and not primary:
        return phonemes.replace(SECONDARY, PRIMARY)
    return phonemes
