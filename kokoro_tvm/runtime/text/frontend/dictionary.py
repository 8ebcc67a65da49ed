"""Compact dictionary: sorted words in small compressed blocks, each unpacked when a word of it is looked up.

As a dict, the two hundred thousand words of one English take 60 MB and 0.3 s to build. Python and C
(native/libkokoro/text/dictionary.c) read the same bytes:

* 32-bit little-endian numbers: the size of the alphabet, and its code points in order; the number of blocks,
  and for each block and for the end: its offset in the stream, its offset unpacked, and the offset of its
  first word among the first words;
* the first words of the blocks;
* the zlib stream, flushed after every block, so that a block can be unpacked alone.

A character is one byte: its index in the alphabet, behind three separators. A block is its words, then their
values in the same order, each with `_END` behind it. The first byte of a word says how many bytes it shares
with the word before (plus one, never 0); these are left out. A value is a text, or for each of its names in
order `_NAME`, the name, and, unless it is None, `_TEXT` and its text.
"""

from __future__ import annotations

import codecs
import struct
import zlib
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import TypeAlias

Entry: TypeAlias = "str | Mapping[str, str | None]"
"""Phonemes of a word; or phonemes by part of speech, "DEFAULT" among them. None: spelled letter by letter."""

_END, _NAME, _TEXT = b"\0", b"\1", b"\2"
_SEPARATORS = "\0\1\2"
_MAX_BLOCK_BYTES = 4096  # unpacked; C has this much room
_MAX_SHARED = 254
_CACHED_WORDS = 2048
_CACHED_BLOCKS = 128


def pack_dictionary(entries: Mapping[str, Entry]) -> bytes:
    """Pack entries into the format of this module.

    Raises:
        ValueError: An empty word, an entry of more than 4 KB, or more than 253 different characters.
    """
    alphabet = sorted({char for word, entry in entries.items() for char in word + _text_of(entry)})
    if len(alphabet) > 256 - len(_SEPARATORS):
        raise ValueError(f"a dictionary of more than {256 - len(_SEPARATORS)} different characters")
    codes = {char: place + len(_SEPARATORS) for place, char in enumerate(alphabet)}

    def encode(text: str) -> bytes:
        return bytes(map(codes.__getitem__, text))

    def value(entry: Entry) -> bytes:
        if isinstance(entry, str):
            return encode(entry)
        return b"".join(
            _NAME + encode(name) + (b"" if text is None else _TEXT + encode(text))
            for name, text in sorted(entry.items())
        )

    stream = zlib.compressobj(9)
    packed = [stream.compress(b"")]
    index, firsts = [], []
    at = [len(packed[0]), 0, 0]
    for block in _blocks(sorted((encode(word), value(entry)) for word, entry in entries.items())):
        words, values = zip(*block, strict=True)
        plain = _shorten(words) + b"".join(value + _END for value in values)
        packed.append(stream.compress(plain) + stream.flush(zlib.Z_FULL_FLUSH))
        index += at
        firsts.append(words[0])
        at = [at[0] + len(packed[-1]), at[1] + len(plain), at[2] + len(words[0])]
    packed.append(stream.flush())
    numbers = [len(alphabet), *map(ord, alphabet), len(firsts), *index, *at]
    return struct.pack(f"<{len(numbers)}I", *numbers) + b"".join(firsts) + b"".join(packed)


def _text_of(entry: Entry) -> str:
    return entry if isinstance(entry, str) else "".join(name + (text or "") for name, text in entry.items())


def _blocks(entries: list[tuple[bytes, bytes]]) -> Iterator[list[tuple[bytes, bytes]]]:
    block: list[tuple[bytes, bytes]] = []
    size = 0
    for word, value in entries:
        length = len(word) + len(value) + 3
        if length > _MAX_BLOCK_BYTES or not word:
            raise ValueError(f"no entry of a dictionary, because it is {'empty' if not word else 'too long'}")
        if size + length > _MAX_BLOCK_BYTES:
            yield block
            block, size = [], 0
        block.append((word, value))
        size += length - _shared_length(block[-2][0] if len(block) > 1 else b"", word)
    if block:
        yield block


def _shared_length(before: bytes, word: bytes) -> int:
    most = min(len(before), len(word), _MAX_SHARED)
    return next((place for place in range(most) if before[place] != word[place]), most)


def _shorten(words: tuple[bytes, ...]) -> bytes:
    parts = []
    for before, word in zip((b"", *words), words, strict=False):
        shared = _shared_length(before, word)
        parts.append(bytes([shared + 1]) + word[shared:] + _END)
    return b"".join(parts)


class Dictionary:
    """Words to entries. Thread-safe."""

    def __init__(self, packed: bytes) -> None:
        """Open packed bytes.

        Raises:
            ValueError: `pack_dictionary` did not write them.
        """
        try:
            (chars,) = struct.unpack_from("<I", packed)
            points = struct.unpack_from(f"<{chars}I", packed, 4)
            (blocks,) = struct.unpack_from("<I", packed, 4 + 4 * chars)
            index = struct.unpack_from(f"<{3 * blocks + 3}I", packed, 8 + 4 * chars)
        except struct.error as error:
            raise ValueError(f"no dictionary: {error}") from error
        self._alphabet = _SEPARATORS + "".join(map(chr, points))
        self._codes = {ord(char): place for place, char in enumerate(self._alphabet)}
        words = 8 + 4 * (chars + 3 * blocks + 3)
        self._stream = packed[words + index[-1] :]
        self._starts = index[::3]
        firsts = index[2::3]
        self._first = [packed[words + start : words + end] for start, end in pairwise(firsts)]
        self._block = lru_cache(_CACHED_BLOCKS)(self._unpack)
        self.get = lru_cache(_CACHED_WORDS)(self._get)

    def items(self) -> Iterator[tuple[str, Entry]]:
        """Yield all words with their entries, in order."""
        for block in range(len(self._first)):
            for word, value in self._unpack(block).items():
                yield self._decode(word), self._entry(value)

    def _get(self, word: str) -> Entry | None:
        """Return the entry of a word, spelled exactly so, or None."""
        try:
            key = codecs.charmap_encode(word, "strict", self._codes)[0]
        except UnicodeEncodeError:  # no word has this character
            return None
        block = bisect_right(self._first, key) - 1
        value = self._block(block).get(key) if block >= 0 else None
        return None if value is None else self._entry(value)

    def _unpack(self, block: int) -> dict[bytes, bytes]:
        stream = self._stream[self._starts[block] : self._starts[block + 1]]
        parts = zlib.decompressobj(-zlib.MAX_WBITS).decompress(stream).split(_END)
        half = len(parts) // 2
        words = accumulate(parts[:half], lambda before, word: before[: word[0] - 1] + word[1:], initial=b"")
        next(words)
        return dict(zip(words, parts[half:-1], strict=True))

    def _entry(self, value: bytes) -> Entry:
        if not value.startswith(_NAME):
            return self._decode(value)
        named = (part.partition(_TEXT) for part in value.split(_NAME)[1:])
        return {self._decode(name): self._decode(text) if mark else None for name, mark, text in named}

    def _decode(self, coded: bytes) -> str:
        return codecs.charmap_decode(coded, "strict", self._alphabet)[0]

    def __len__(self) -> int:
        return sum(len(self._unpack(block)) for block in range(len(self._first)))
