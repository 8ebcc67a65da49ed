"""Phonemes of American and British English, and rules of stress.

Alphabet and rules are those of misaki 0.9.4 (hexgrad, Apache-2.0).
"""

from __future__ import annotations

PRIMARY = "ˈ"
SECONDARY = "ˌ"
VOWELS = frozenset("AIOQWYaiuæɑɒɔəɛɜɪʊʌᵻ")
CONSONANTS = frozenset("bdfhjklmnpstvwzðŋɡɹɾʃʒʤʧθ")

_DIPHTHONGS = frozenset("AIOQWYʤʧ")  # and affricates


def sound_weight(phonemes: str) -> int:
    """Return how long phonemes take: 2 for a diphthong or an affricate, 1 for every other symbol."""
    return sum(2 if symbol in _DIPHTHONGS else 1 for symbol in phonemes)


def restress(phonemes: str, stress: float | None) -> str:
    """Return phonemes with a requested stress.

    Below -1: none. -1: primary becomes secondary. -0.5 and 0: the same, if there is a primary. 0 to 1: a word
    without stress gets a secondary. From 1: secondary becomes primary. Above 1: a word without stress gets a
    primary. None: unchanged.
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
