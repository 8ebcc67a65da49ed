"""Optimization of WebAssembly: constants added to an address become the offset of its load.

A load adds an offset to its address without cost. LLVM uses it only if it knows that the sum does not
overflow. It loses that knowledge when it rewrites loops, and adds the constant with an instruction for each
load of an inner loop.

The sum overflows only for an address below the constant. No library has anything there: data, the heap and
nearly all of the stack are above `BELOW`. Such an address would trap.
"""

from __future__ import annotations

from kokoro_tvm.common.errors import BuildError

BELOW = 1 << 16
"""Limit of offsets in bytes."""

_HEADER = 8  # bytes of a module before its sections
_CODE = 10  # the section with functions
_I32_CONST, _I32_ADD, _SIMD = 0x41, 0x6A, 0xFD

# Opcodes by their operands. SIMD, memory and thread instructions have a second number.
_INTEGER = {0x02, 0x03, 0x04, 0x06, 0x07, 0x08, 0x09, 0x0C, 0x0D, 0x10, 0x12, 0x18}
_INTEGER |= {0x20, 0x21, 0x22, 0x23, 0x24, 0x25, 0x26, 0x3F, 0x40, 0x41, 0x42, 0xD0, 0xD2}
_TWO_INTEGERS = {0x11, 0x13, *range(0x28, 0x3F)}  # a call by table; an alignment and an offset
_BYTES = {0x43: 4, 0x44: 8}
_BARE = {0x00, 0x01, 0x05, 0x0B, 0x0F, 0x19, 0x1A, 0x1B, *range(0x45, 0xC5), 0xD1}
_BULK = {**dict.fromkeys(range(8), 0), 8: 2, 9: 1, 10: 2, 11: 1, 12: 2, 13: 1, 14: 2, 15: 1, 16: 1, 17: 1}
_LOADS = {*range(0x28, 0x36)}
_SIMD_LOADS = {*range(11), 92, 93}


def with_offsets(module: bytes) -> bytes:
    """Return a module with constants of addresses moved into the offsets of loads.

    Raises:
        BuildError: The module has an unknown instruction.
    """
    parts = [module[:_HEADER]]
    at = _HEADER
    while at < len(module):
        kind = module[at]
        size, start = _read_leb128(module, at + 1)
        content = module[start : start + size]
        if kind == _CODE:
            content = _rewrite_functions(content)
        parts += [bytes([kind]), _encode_leb128(len(content)), content]
        at = start + size
    return b"".join(parts)


def _rewrite_functions(section: bytes) -> bytes:
    """Rewrite the content of the code section."""
    count, at = _read_leb128(section, 0)
    parts = [_encode_leb128(count)]
    for _ in range(count):
        size, start = _read_leb128(section, at)
        at = start + size
        body = _rewrite_body(section[start:at])
        parts += [_encode_leb128(len(body)), body]
    return b"".join(parts)


def _rewrite_body(body: bytes) -> bytes:
    """Rewrite one function: its locals, then instructions."""
    count, at = _read_leb128(body, 0)
    for _ in range(count):
        _, at = _read_leb128(body, at)
        at += 1
    parts = [body[:at]]
    while at < len(body):
        end = _find_end(body, at)
        parts.append(body[at:end])
        at = end
        if len(parts) < 4 or parts[-2] != bytes([_I32_ADD]) or parts[-3][0] != _I32_CONST:
            continue
        constant, _ = _read_leb128(parts[-3], 1, signed=True)
        moved = _fold_offset(parts[-1], constant)
        if moved is not None:
            parts[-3:] = [moved]
    return b"".join(parts)


def _fold_offset(load: bytes, constant: int) -> bytes | None:
    """Return a load with `constant` added to its offset; None for other code or a large offset."""
    code, at = load[0], 1
    if code == _SIMD:
        number, at = _read_leb128(load, 1)
        if number not in _SIMD_LOADS:
            return None
    elif code not in _LOADS:
        return None
    _, end = _read_leb128(load, at)
    offset, _ = _read_leb128(load, end)
    if constant < 0 or offset + constant >= BELOW:
        return None
    return load[:end] + _encode_leb128(offset + constant)


def _find_end(code: bytes, at: int) -> int:
    """Return the end of the instruction at a place. Raises BuildError for an unknown one."""
    opcode, end = code[at], at + 1
    if opcode in _BARE:
        return end
    if opcode in _BYTES:
        return end + _BYTES[opcode]
    if opcode in _INTEGER:
        return _skip_numbers(code, end, 1)
    if opcode in _TWO_INTEGERS:
        return _skip_numbers(code, end, 2)
    if opcode == 0x0E:  # br_table: as many labels, and one more
        count, end = _read_leb128(code, end)
        return _skip_numbers(code, end, count + 1)
    if opcode == 0x1C:  # select of types
        count, end = _read_leb128(code, end)
        return end + count
    number, end = _read_leb128(code, end)
    if opcode == 0xFC and number in _BULK:
        return _skip_numbers(code, end, _BULK[number])
    if opcode == 0xFE:
        return end + 1 if number == 3 else _skip_numbers(code, end, 2)
    if opcode == _SIMD:
        if number in _SIMD_LOADS or number == 11:
            return _skip_numbers(code, end, 2)
        if number in (12, 13):
            return end + 16
        if 21 <= number <= 34:
            return end + 1
        return _skip_numbers(code, end, 2) + 1 if 84 <= number <= 91 else end
    raise BuildError(f"wasm-ld wrote the opcode {opcode:#x}, whose length is not known to {__name__}")


def _skip_numbers(code: bytes, at: int, count: int) -> int:
    """Return where `count` LEB128 numbers end."""
    for _ in range(count):
        _, at = _read_leb128(code, at)
    return at


def _read_leb128(code: bytes, at: int, signed: bool = False) -> tuple[int, int]:
    """Read a LEB128 number and return it with its end."""
    value = shift = 0
    while True:
        byte = code[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return (value - (1 << shift) if signed and byte & 0x40 else value), at


def _encode_leb128(value: int) -> bytes:
    """Encode an unsigned LEB128 number."""
    parts = bytearray()
    while value >= 0x80:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*parts, value])
