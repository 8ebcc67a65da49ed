"""Constants of addresses in WebAssembly, moved into the loads that use them.

A load adds an offset of its own to its address, for nothing. LLVM uses it where it knows that the sum does
not overflow, which it forgets as it rewrites loops, and adds a constant beforehand instead: an instruction
for each load of an inner loop.

The sum overflows only where an address lies below the constant. No library has anything there: its data, the
heap and all but the last bytes of the stack are above `BELOW`. If an address did, the load would trap.
"""

from __future__ import annotations

from kokoro_tvm.common.errors import BuildError

__all__ = ["BELOW", "with_offsets"]

BELOW = 1 << 16
"""What offsets are below, in bytes."""

_HEADER = 8  # bytes of a module before its sections
_CODE = 10  # the section with functions
_I32_CONST, _I32_ADD, _SIMD = 0x41, 0x6A, 0xFD

# Opcodes by what follows them. SIMD's, those of memory and of threads have a number of their own.
_INTEGER = {0x02, 0x03, 0x04, 0x06, 0x07, 0x08, 0x09, 0x0C, 0x0D, 0x10, 0x12, 0x18}
_INTEGER |= {0x20, 0x21, 0x22, 0x23, 0x24, 0x25, 0x26, 0x3F, 0x40, 0x41, 0x42, 0xD0, 0xD2}
_TWO_INTEGERS = {0x11, 0x13, *range(0x28, 0x3F)}  # a call by table; an alignment and an offset
_BYTES = {0x43: 4, 0x44: 8}
_BARE = {0x00, 0x01, 0x05, 0x0B, 0x0F, 0x19, 0x1A, 0x1B, *range(0x45, 0xC5), 0xD1}
_BULK = {**dict.fromkeys(range(8), 0), 8: 2, 9: 1, 10: 2, 11: 1, 12: 2, 13: 1, 14: 2, 15: 1, 16: 1, 17: 1}
_LOADS = {*range(0x28, 0x36)}
_SIMD_LOADS = {*range(11), 92, 93}


def with_offsets(module: bytes) -> bytes:
    """The same module, with constants that are added to an address as the offset of its load.

    Raises BuildError for an instruction that is not known here.
    """
    parts = [module[:_HEADER]]
    at = _HEADER
    while at < len(module):
        kind = module[at]
        size, start = _integer(module, at + 1)
        content = module[start : start + size]
        if kind == _CODE:
            content = _functions(content)
        parts += [bytes([kind]), _encoded(len(content)), content]
        at = start + size
    return b"".join(parts)


def _functions(section: bytes) -> bytes:
    count, at = _integer(section, 0)
    parts = [_encoded(count)]
    for _ in range(count):
        size, start = _integer(section, at)
        at = start + size
        body = _body(section[start:at])
        parts += [_encoded(len(body)), body]
    return b"".join(parts)


def _body(body: bytes) -> bytes:
    """Of one function: its locals, then instructions."""
    count, at = _integer(body, 0)
    for _ in range(count):
        _, at = _integer(body, at)
        at += 1
    kept = [body[:at]]
    while at < len(body):
        end = _end(body, at)
        kept.append(body[at:end])
        at = end
        if len(kept) < 4 or kept[-2] != bytes([_I32_ADD]) or kept[-3][0] != _I32_CONST:
            continue
        constant, _ = _integer(kept[-3], 1, signed=True)
        moved = _moved(kept[-1], constant)
        if moved is not None:
            kept[-3:] = [moved]
    return b"".join(kept)


def _moved(load: bytes, constant: int) -> bytes | None:
    """A load with a constant more in its offset; None for what is no load, and for a large offset."""
    code, at = load[0], 1
    if code == _SIMD:
        number, at = _integer(load, 1)
        if number not in _SIMD_LOADS:
            return None
    elif code not in _LOADS:
        return None
    _, end = _integer(load, at)
    offset, _ = _integer(load, end)
    if constant < 0 or offset + constant >= BELOW:
        return None
    return load[:end] + _encoded(offset + constant)


def _end(code: bytes, at: int) -> int:
    """Of the instruction that begins there."""
    opcode, end = code[at], at + 1
    if opcode in _BARE:
        return end
    if opcode in _BYTES:
        return end + _BYTES[opcode]
    if opcode in _INTEGER:
        return _skip(code, end, 1)
    if opcode in _TWO_INTEGERS:
        return _skip(code, end, 2)
    if opcode == 0x0E:  # br_table: as many labels, and one more
        count, end = _integer(code, end)
        return _skip(code, end, count + 1)
    if opcode == 0x1C:  # select of types
        count, end = _integer(code, end)
        return end + count
    number, end = _integer(code, end)
    if opcode == 0xFC and number in _BULK:
        return _skip(code, end, _BULK[number])
    if opcode == 0xFE:
        return end + 1 if number == 3 else _skip(code, end, 2)
    if opcode == _SIMD:
        if number in _SIMD_LOADS or number == 11:
            return _skip(code, end, 2)
        if number in (12, 13):
            return end + 16
        if 21 <= number <= 34:
            return end + 1
        return _skip(code, end, 2) + 1 if 84 <= number <= 91 else end
    raise BuildError(f"wasm-ld wrote the opcode {opcode:#x}, whose length is not known to {__name__}")


def _skip(code: bytes, at: int, count: int) -> int:
    for _ in range(count):
        _, at = _integer(code, at)
    return at


def _integer(code: bytes, at: int, signed: bool = False) -> tuple[int, int]:
    """A number in LEB128, and where it ends."""
    value = shift = 0
    while True:
        byte = code[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return (value - (1 << shift) if signed and byte & 0x40 else value), at


def _encoded(value: int) -> bytes:
    parts = bytearray()
    while value >= 0x80:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*parts, value])
