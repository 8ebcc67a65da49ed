"""A lexicon in little memory: one block of sorted lines, found by bisection.

As a dict, the two hundred thousand words of one English would take 60 MB and 0.3 s to make.
"""

from __future__ import annotations

import json
import zlib
from bisect import bisect_right
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import TypeAlias

__all__ = ["Dictionary", "Entry", "pack_lines"]

Entry: TypeAlias = "str | Mapping[str, str | None]"
"""Phonemes of a word; or phonemes by part of speech, "DEFAULT" among them. None: spelled letter by letter."""

_BLOCK = 1024  # bytes between two lines whose words are bisected
_REMEMBERED = 2048


def pack_lines(entries: Mapping[str, Entry]) -> bytes:
    """`entries` as `Dictionary` reads them: compressed lines "word<tab>phonemes", sorted by their bytes; of
    an entry with parts of speech, its JSON."""
    return zlib.compress(b"".join(sorted(_lines(entries))), 9)


def _lines(entries: Mapping[str, Entry]) -> Iterable[bytes]:
    for word, entry in entries.items():
        spelled = (
            entry
            if isinstance(entry, str)
            else json.dumps(entry, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
        )
        if any(mark in word + spelled for mark in "\t\n") or not word:
            raise ValueError(f"not an entry of a lexicon: {word!r}: {spelled!r}")
        yield f"{word}\t{spelled}\n".encode()


class Dictionary:
    """Words to entries. Threads may share it."""

    def __init__(self, packed: bytes) -> None:
        """Open what `pack_lines` made."""
        self._lines = b"\n" + zlib.decompress(packed)
        self._starts: list[int] = []  # of the first line of every block
        self._first: list[bytes] = []  # its word
        place = 0
        while place + 1 < len(self._lines):
            line = self._lines[place + 1 : self._lines.index(b"\t", place)]
            self._starts.append(place)
            self._first.append(line)
            found = self._lines.find(b"\n", place + _BLOCK)
            place = len(self._lines) if found < 0 else found
        self.get = lru_cache(_REMEMBERED)(self._get)

    def _get(self, word: str) -> Entry | None:
        """The entry of a word as it is written here, capitals and all."""
        key = word.encode("utf-8", "surrogatepass")
        block = bisect_right(self._first, key) - 1
        if block < 0:
            return None
        start = self._starts[block]
        end = self._starts[block + 1] + 1 if block + 1 < len(self._starts) else len(self._lines)
        found = self._lines.find(b"\n" + key + b"\t", start, end)
        if found < 0:
            return None
        value = found + len(key) + 2
        spelled = self._lines[value : self._lines.index(b"\n", value)].decode()
        if spelled.startswith("{"):
            entry: dict[str, str | None] = json.loads(spelled)
            return entry
        return spelled

    def __len__(self) -> int:
        return self._lines.count(b"\n") - 1
