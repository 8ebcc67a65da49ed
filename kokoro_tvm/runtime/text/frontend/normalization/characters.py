"""Unify characters that only look different, and divide very long words."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from kokoro_tvm.runtime.text.frontend.source import Edit, edit_matches

# A letter with combining marks, and the parts of a Korean syllable.
_DECOMPOSED = re.compile(
    "[^\u0300-\u036f\u0900-\u0903][\u0300-\u036f\u093c\u3099\u309a]{1,8}|[\u1100-\u11ff]{2,3}"
)
_LIGATURE = re.compile("[\ufb00-\ufb06]")
_NUMERAL = re.compile("[\u2160-\u217f]+")  # characters that are a Roman numeral each
_APOSTROPHE = re.compile("(?<=[^\\W\\d_])[’ʼ´`＇‘](?=[^\\W\\d_])")
_DASH = re.compile(r"(?<=[^\s-])(?: ?---? ?)(?=[^\s>-])|(?<=[^\s\d-]) - (?=[^\s\d-])")
# Of scripts with spaces between words.
_WORD = re.compile(r"[^\W\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+")
_LONGEST_BYTES, _PIECE = 128, 24  # espeak-ng drops what a word has beyond about 160 bytes
_REPEATED = re.compile(r"(.)\1{3,}")


def compose_letters(text: str) -> Iterator[Edit]:
    """Yield edits that compose letters with combining marks (NFC)."""
    if not unicodedata.is_normalized("NFC", text):
        yield from edit_matches(_DECOMPOSED, text, lambda match: unicodedata.normalize("NFC", match[0]))


def expand_ligatures(text: str) -> Iterator[Edit]:
    """Yield edits from ligatures (ﬁ) to their letters."""
    return edit_matches(_LIGATURE, text, lambda match: unicodedata.normalize("NFKC", match[0]))


def expand_numerals(text: str) -> Iterator[Edit]:
    """Yield edits from characters that are Roman numerals (Ⅷ) to their letters."""
    return edit_matches(_NUMERAL, text, lambda match: unicodedata.normalize("NFKC", match[0]))


def unify_apostrophes(text: str) -> Iterator[Edit]:
    """Yield edits that write every apostrophe inside a word as '."""
    return edit_matches(_APOSTROPHE, text, lambda match: "'")


def unify_dashes(text: str) -> Iterator[Edit]:
    """Yield edits that write two hyphens, and one between spaces, as a dash."""
    return edit_matches(_DASH, text, lambda match: " — ")


def divide_long_words(text: str) -> Iterator[Edit]:
    """Yield edits that divide words of more than 128 bytes, and shorten runs of one character to three."""

    def pieces(match: re.Match[str]) -> str | None:
        if len(match[0]) * 4 <= _LONGEST_BYTES or len(match[0].encode()) <= _LONGEST_BYTES:
            return None
        word = _REPEATED.sub(lambda run: run[1] * 3, match[0])
        return " ".join(word[place : place + _PIECE] for place in range(0, len(word), _PIECE))

    return edit_matches(_WORD, text, pieces)
