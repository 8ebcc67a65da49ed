"""The two hash functions that index spaCy's models. Both are in the public domain.

Strings: MurmurHash64A by Austin Appleby, seed 1, as spaCy's StringStore calls it. Embedding rows:
MurmurHash3_x64_128 of one 64-bit integer, as thinc's HashEmbed calls it.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping

_MASK = (1 << 64) - 1
_LOW = (1 << 32) - 1
_FACTOR = 0xC6A4A7935BD1E995
_SEED = 1


def hash_text(text: str) -> int:
    """Return the 64-bit hash of a text in UTF-8; 0 for the empty text."""
    data = text.encode("utf-8", "surrogatepass")
    if not data:
        return 0
    whole = len(data) & ~7
    state = (_SEED ^ (len(data) * _FACTOR)) & _MASK
    for (block,) in struct.iter_unpack("<Q", data[:whole]):
        mixed = block * _FACTOR & _MASK
        mixed = (mixed ^ mixed >> 47) * _FACTOR & _MASK
        state = (state ^ mixed) * _FACTOR & _MASK
    if len(data) > whole:
        state = (state ^ int.from_bytes(data[whole:], "little")) * _FACTOR & _MASK
    state = (state ^ state >> 47) * _FACTOR & _MASK
    return state ^ state >> 47


def string_id(text: str, symbols: Mapping[str, int]) -> int:
    """Return spaCy's id of a text: the one in `symbols`, else its hash."""
    symbol = symbols.get(text)
    return hash_text(text) if symbol is None else symbol


def hash_rows(key: int, seed: int) -> tuple[int, int, int, int]:
    """Return four 32-bit hashes of a 64-bit id, which address rows of an embedding."""
    low = key * 0x87C37B91114253D5 & _MASK
    low = (low << 31 | low >> 33) * 0x4CF5AD432745937F & _MASK
    low ^= seed ^ 8
    low = low + (seed ^ 8) & _MASK
    high = low + (seed ^ 8) & _MASK
    low, high = _finish(low), _finish(high)
    low = low + high & _MASK
    high = high + low & _MASK
    return low & _LOW, low >> 32, high & _LOW, high >> 32


def _finish(state: int) -> int:
    state = (state ^ state >> 33) * 0xFF51AFD7ED558CCD & _MASK
    state = (state ^ state >> 33) * 0xC4CEB9FE1A85EC53 & _MASK
    return state ^ state >> 33
