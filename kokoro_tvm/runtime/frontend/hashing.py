"""The two hash functions that spaCy's models are indexed by.

Strings: MurmurHash64A by Austin Appleby, seed 1, as spaCy's StringStore calls it. Rows of an embedding:
MurmurHash3_x64_128 of one 64-bit integer, as thinc's HashEmbed calls it. Both are in the public domain.
"""

from __future__ import annotations

import struct

import numpy as np
from numpy.typing import NDArray

__all__ = ["hash_rows", "hash_text"]

_MASK = (1 << 64) - 1
_FACTOR = 0xC6A4A7935BD1E995
_SEED = 1


def hash_text(text: str) -> int:
    """64-bit hash of the UTF-8 bytes of `text`; 0 for the empty string."""
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


def hash_rows(ids: NDArray[np.uint64], seed: int) -> NDArray[np.uint64]:
    """Four 32-bit hashes of every id, uint64 (ids, 4), which address the rows of an embedding."""
    u = np.uint64
    with np.errstate(over="ignore"):
        low = ids * u(0x87C37B91114253D5)
        low = (low << u(31) | low >> u(33)) * u(0x4CF5AD432745937F)
        low = low ^ u(seed ^ 8)
        high = np.full_like(low, seed ^ 8)
        low = low + high
        high = high + low
        low, high = _finish(low), _finish(high)
        low = low + high
        high = high + low
    mask = u(0xFFFFFFFF)
    return np.stack([low & mask, low >> u(32), high & mask, high >> u(32)], axis=1)


def _finish(state: NDArray[np.uint64]) -> NDArray[np.uint64]:
    u = np.uint64
    state = (state ^ state >> u(33)) * u(0xFF51AFD7ED558CCD)
    state = (state ^ state >> u(33)) * u(0xC4CEB9FE1A85EC53)
    return state ^ state >> u(33)
