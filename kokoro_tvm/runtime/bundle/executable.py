"""The manifest in a compiled library, read from its bytes; nothing is executed.

A library carries the executable of TVM's virtual machine as one block of bytes, whatever the object format
(ELF, Mach-O, PE). The manifest is a string among that block's constants, the one `<component>_manifest()`
returns. Format: apache/tvm, src/runtime/vm/executable.cc, SaveToBytes.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from typing import Any


class LittleEndianReader:
    """A cursor over bytes; every method raises ValueError beyond their end."""

    def __init__(self, data: bytes, name: str) -> None:
        """Read from the first byte; `name` is the subject of error messages."""
        self._data = data
        self._name = name
        self._at = 0

    def fields(self, layout: str) -> tuple[int, ...]:
        """Read the numbers of a `struct` layout."""
        return struct.unpack(layout, self.take(struct.calcsize(layout)))

    def number(self, layout: str = "<Q") -> int:
        """Read one number, by default 64 bits without a sign."""
        return self.fields(layout)[0]

    def block(self) -> bytes:
        """Read a length and that many bytes."""
        return self.take(self.number())

    def text(self) -> str:
        """Read a length and that many bytes of UTF-8."""
        return self.block().decode()

    def take(self, count: int) -> bytes:
        """Read `count` bytes."""
        if not 0 <= count <= len(self._data) - self._at:
            raise ValueError(f"{self._name} is cut short")
        self._at += count
        return self._data[self._at - count : self._at]


_KIND = b"relax.VMExecutable"
_MARK = struct.pack("<Q", len(_KIND)) + _KIND  # followed by the block's size and the block
_MAGIC, _MAGIC_WITH_SCOPES = 0xD225DE2F4214151D, 0xD225DE2F4214151E
_TENSOR_MAGIC = 0xDD5E40F096B4A13F
# TVMFFITypeIndex of constants.
_INT, _FLOAT, _DTYPE, _STRING, _SHAPE, _TENSOR = 1, 3, 5, 65, 69, 70


def read_manifest(library: bytes) -> dict[str, Any]:
    """Return the manifest in a library: component, bucket, length, precision and what it was compiled from.

    Raises:
        ValueError: the bytes are no library with one executable of a component; the message says why.
    """
    texts = _read_strings(_find_executable(library))
    manifests = [value for text in texts if (value := _parse_manifest(text)) is not None]
    if len(manifests) != 1:
        raise ValueError(f"its executable holds {len(manifests)} manifests, not one")
    return manifests[0]


def _find_executable(library: bytes) -> bytes:
    """Return the bytes of the one executable in a library."""
    blocks = []
    at = library.find(_MARK)
    while at >= 0:
        start = at + len(_MARK) + 8
        size = int.from_bytes(library[start - 8 : start], "little")
        magic = int.from_bytes(library[start : start + 8], "little")
        if magic in (_MAGIC, _MAGIC_WITH_SCOPES) and size <= len(library) - start:
            blocks.append(library[start : start + size])
        at = library.find(_MARK, at + 1)
    if len(blocks) != 1:
        raise ValueError(f"it holds {len(blocks)} executables of TVM's virtual machine, not one")
    return blocks[0]


def _parse_manifest(text: str) -> dict[str, Any] | None:
    """Return a manifest, or None for another string, such as a table of kernels."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) and isinstance(value.get("component"), str) else None


def _read_strings(block: bytes) -> Iterator[str]:
    """Yield the string constants of an executable."""
    reader = LittleEndianReader(block, "its executable")
    magic = reader.number()
    reader.text()  # the version of the virtual machine, which the runtime compares when it loads
    for _ in range(reader.number()):  # functions
        reader.take(4)  # kind
        reader.text()
        reader.take(4 * 8)  # first and last instruction, arguments, registers
        for _ in range(reader.number()):  # names of parameters
            reader.text()
    if magic == _MAGIC_WITH_SCOPES:
        for _ in range(reader.number()):
            reader.take(8)
            reader.text()
    for _ in range(reader.number()):  # constants
        kind = reader.number("<i")
        if kind == _STRING:
            yield reader.text()
        elif kind in (_INT, _FLOAT):
            reader.take(8)
        elif kind == _DTYPE:
            reader.take(4)
        elif kind == _SHAPE:
            reader.take(8 * reader.number())
        elif kind == _TENSOR:
            if reader.number() != _TENSOR_MAGIC:
                raise ValueError("a tensor among its constants is damaged")
            reader.take(8 + 8)  # reserved; device
            dimensions = reader.number("<i")
            reader.take(4 + 8 * dimensions)  # dtype; shape
            reader.take(reader.number("<q"))
        else:
            raise ValueError(f"it has a constant of an unknown type ({kind})")
