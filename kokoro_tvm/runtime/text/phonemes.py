"""Encode phoneme strings as token ids, and cut them at sentence ends, clause ends or spaces."""

from __future__ import annotations

import re
from collections.abc import Mapping

from kokoro_tvm.common.errors import InputError

_CLOSING = "[)\\]}”’»\"']*"
# In order of preference; a part ends where the match ends. The last is for texts without space after marks.
_BOUNDARIES = tuple(
    re.compile(pattern)
    for pattern in (
        rf"(?<![.!?…])[.!?…]+{_CLOSING}\s+",
        rf"(?<![;:])[;:]+{_CLOSING}\s+",
        rf"(?:(?<![,—])[,—]+{_CLOSING}\s+|(?<!\s)\s+(?=—))",
        r"\s+",
        rf"[.!?…;:,—]+{_CLOSING}",
    )
)


def clean_phonemes(phonemes: str) -> str:
    """Return the phonemes with tabs and line breaks as spaces.

    Raises:
        InputError: They are empty, no string, or hold a NUL byte.
    """
    if not isinstance(phonemes, str):
        raise InputError(f"Phonemes are a string, not {type(phonemes).__name__}.")
    if "\0" in phonemes:
        raise InputError("The phonemes hold a NUL byte. Remove it: it stands for no sound.")
    spaced = re.sub(r"[\t\r\n\v\f]+", " ", phonemes)
    if not spaced.strip():
        raise InputError("There is nothing to speak: the phonemes are empty.")
    return spaced


def has_sound(phonemes: str, vocabulary: Mapping[str, int]) -> bool:
    """Return whether the model knows any of the symbols, spaces aside."""
    return any(symbol in vocabulary and not symbol.isspace() for symbol in phonemes)


def encode(phonemes: str, vocabulary: Mapping[str, int]) -> list[int]:
    """Token ids with the 0 the model expects at both ends; unknown symbols are passed over."""
    return [0, *(vocabulary[symbol] for symbol in phonemes if symbol in vocabulary), 0]


def find_middle_cut(phonemes: str) -> int | None:
    """Return the place of the boundary nearest to the middle, of the best kind there is, or None."""
    sounds = [place for place, symbol in enumerate(phonemes) if symbol.isalpha()]
    if not sounds:
        return None
    for boundary in _BOUNDARIES:
        cuts = [
            cut for match in boundary.finditer(phonemes) if sounds[0] < (cut := match.end()) <= sounds[-1]
        ]
        if cuts:
            return min(cuts, key=lambda place: abs(2 * place - len(phonemes)))
    return None
