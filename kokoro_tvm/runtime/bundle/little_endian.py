"""Reading little-endian fields, as TVM writes them."""

from __future__ import annotations

import struct

__all__ = ["LittleEndianReader"]


class LittleEndianReader:
    """Numbers, blocks and strings one after the other; raises ValueError at the end of the bytes.

    name: what the bytes are, in the message.
    """

    def __init__(self, data: bytes, name: str) -> None:
        self._data = data
        self._name = name
        self._at = 0

    def fields(self, layout: str) -> tuple[int, ...]:
        """Numbers in a layout of `struct`."""
        return struct.unpack(layout, self.take(struct.calcsize(layout)))

    def number(self, layout: str = "<Q") -> int:
        """One number, 64 bits without a sign unless given otherwise."""
        return self.fields(layout)[0]

    def block(self) -> bytes:
        """Bytes behind their number."""
        return self.take(self.number())

    def text(self) -> str:
        """UTF-8 behind its number of bytes."""
        return self.block().decode()

    def take(self, count: int) -> bytes:
        """The next `count` bytes."""
        if not 0 <= count <= len(self._data) - self._at:
            raise ValueError(f"{self._name} is cut short")
        self._at += count
        return self._data[self._at - count : self._at]
