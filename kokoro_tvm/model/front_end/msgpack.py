"""Reads MessagePack as spaCy writes it: plain values and arrays of numbers, and nothing that could run.

Format: https://github.com/msgpack/msgpack/blob/master/spec.md; an array is a mapping with the keys "nd",
"type", "shape" and "data" (srsly's msgpack_numpy).
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from kokoro_tvm.errors import BuildError

__all__ = ["loads"]

_DEEPEST = 50
_NUMBERS = {
    0xCA: ">f", 0xCB: ">d", 0xCC: ">B", 0xCD: ">H", 0xCE: ">I", 0xCF: ">Q", 0xD0: ">b", 0xD1: ">h",
    0xD2: ">i", 0xD3: ">q",
}  # fmt: skip
_CONSTANTS = {0xC0: None, 0xC2: False, 0xC3: True}
# First byte -> kind, and the width of its length in bytes.
_SIZED = {
    0xC4: ("bytes", 1), 0xC5: ("bytes", 2), 0xC6: ("bytes", 4), 0xD9: ("text", 1), 0xDA: ("text", 2),
    0xDB: ("text", 4), 0xDC: ("list", 2), 0xDD: ("list", 4), 0xDE: ("map", 2), 0xDF: ("map", 4),
}  # fmt: skip


def loads(data: bytes) -> Any:
    """The value that `data` holds. Raises BuildError where it is cut short, goes on, or has an extension."""
    reader = _Reader(data)
    try:
        value = reader.value()
    except (struct.error, IndexError, ValueError, TypeError, KeyError) as error:
        raise BuildError(f"no readable MessagePack ({error})") from error
    if reader.place != len(data):
        raise BuildError(f"MessagePack of {reader.place:,} bytes, and {len(data) - reader.place:,} behind it")
    return value


class _Reader:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self.place = 0

    def value(self, depth: int = 0) -> Any:
        if depth > _DEEPEST:
            raise ValueError("nested too deeply")
        first = self._take(1)[0]
        if first < 0x80:
            return first
        if first >= 0xE0:
            return first - 0x100
        if first in _CONSTANTS:
            return _CONSTANTS[first]
        if first in _NUMBERS:
            code = _NUMBERS[first]
            return struct.unpack(code, self._take(struct.calcsize(code)))[0]
        if first < 0x90:
            return self._map(first & 0x0F, depth)
        if first < 0xA0:
            return [self.value(depth + 1) for _ in range(first & 0x0F)]
        if first < 0xC0:
            return self._take(first & 0x1F).decode()
        if first not in _SIZED:
            raise ValueError(f"byte {first:#x} at {self.place - 1}")
        kind, width = _SIZED[first]
        size = int.from_bytes(self._take(width), "big")
        if kind == "map":
            return self._map(size, depth)
        if kind == "list":
            return [self.value(depth + 1) for _ in range(size)]
        taken = self._take(size)
        return taken if kind == "bytes" else taken.decode()

    def _map(self, size: int, depth: int) -> Any:
        found = {self._key(depth): self.value(depth + 1) for _ in range(size)}
        plain = {key.decode() if isinstance(key, bytes) else key: value for key, value in found.items()}
        if plain.get("nd") is not True:
            return plain
        kind = plain["type"]
        dtype = np.dtype(kind.decode() if isinstance(kind, bytes) else kind)
        if dtype.hasobject:
            raise ValueError("an array of objects")
        return np.frombuffer(plain["data"], dtype).reshape(plain["shape"])

    def _key(self, depth: int) -> Any:
        return self.value(depth + 1)

    def _take(self, size: int) -> bytes:
        taken = self._data[self.place : self.place + size]
        if len(taken) != size:
            raise ValueError(f"cut short at {len(self._data):,} bytes")
        self.place += size
        return taken
