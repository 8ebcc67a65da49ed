"""Moving constants of addresses into offsets of loads."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
from pathlib import Path

import pytest

from kokoro_tvm.common.errors import BuildError
from kokoro_tvm.native.toolchains.wasm_offsets import BELOW, with_offsets

I32, V128 = 0x7F, 0x7B
GET, END = b"\x20\x00", b"\x0b"
ADD = b"\x6a"
LOAD, BYTE_LOAD, STORE = 0x28, 0x2D, 0x36


def number(value: int) -> bytes:
    """Encode LEB128, signed for a negative number."""
    parts = bytearray()
    while not (-64 <= value < 64):
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*parts, value & 0x7F])


def unsigned(value: int) -> bytes:
    parts = bytearray()
    while value >= 0x80:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*parts, value])


def constant(value: int) -> bytes:
    return b"\x41" + number(value)


def load(offset: int, opcode: int = LOAD) -> bytes:
    return bytes([opcode, 0]) + unsigned(offset)


def section(kind: int, content: bytes) -> bytes:
    return bytes([kind]) + unsigned(len(content)) + content


def module(*bodies: bytes) -> bytes:
    """Encode a module with functions "0", "1", ... of an address and two pages of memory."""
    functions = [b"\x00" + body + END for body in bodies]
    names = b"".join(
        unsigned(len(str(i))) + str(i).encode() + b"\x00" + unsigned(i) for i in range(len(functions))
    )
    return b"\0asm\1\0\0\0" + b"".join(
        [
            section(1, bytes([1, 0x60, 1, I32, 1, I32])),
            section(3, unsigned(len(functions)) + bytes(len(functions))),
            section(5, b"\x01\x00\x02"),
            section(7, unsigned(len(functions) + 1) + names + b"\x06memory\x02\x00"),
            section(10, unsigned(len(functions)) + b"".join(unsigned(len(f)) + f for f in functions)),
        ]
    )


def test_with_offsets_moves_a_constant() -> None:
    before = module(GET + constant(1584) + ADD + load(4))
    assert with_offsets(before) == module(GET + load(1588))


def test_with_offsets_moves_several_constants() -> None:
    before = module(GET + constant(3) + ADD + constant(40) + ADD + load(0))
    assert with_offsets(before) == module(GET + constant(3) + ADD + load(40))


@pytest.mark.parametrize(
    "body",
    [
        GET + constant(-4) + ADD + load(0),
        GET + constant(BELOW) + ADD + load(0),
        GET + constant(8) + ADD + load(BELOW - 8),
        GET + GET + ADD + load(0),
        GET + constant(8) + ADD + GET + bytes([STORE, 2]) + unsigned(0) + GET,
        constant(8) + GET + ADD + load(0),
        GET + b"\x43" + constant(8)[:2] + ADD + load(0)[:1] + b"\x1a" + load(0),  # within a float
    ],
    ids=["negative", "large", "large together", "no constant", "a store", "the other way", "a float"],
)
def test_with_offsets_keeps_other_code(body: bytes) -> None:
    assert with_offsets(module(body)) == module(body)


def test_with_offsets_refuses_an_unknown_instruction() -> None:
    with pytest.raises(BuildError, match="the opcode 0xff, whose length is not known"):
        with_offsets(module(GET + b"\xff"))


SIMD = {  # what takes an address and leaves an i32 behind
    "load": b"\xfd\x00\x00",
    "load32_splat": b"\xfd\x09\x00",
    "load32_zero": b"\xfd\x5c\x00",
}
LANE = b"\xfd\x1b\x01"  # i32x4.extract_lane 1


def drawn(draw: random.Random) -> bytes:
    """Draw a sum of loads of every kind at constant distances from the address."""
    body = constant(draw.randrange(-100, 100))
    for _ in range(draw.randrange(1, 6)):
        at, offset = (
            GET + constant(draw.choice([0, 1, 63, 64, 1584, 65535, 70000])) + ADD,
            draw.randrange(300),
        )
        kind = draw.choice([*SIMD, "i32", "i8"])
        if kind in SIMD:
            used = SIMD[kind] + unsigned(offset) + LANE
        else:
            used = load(offset, LOAD if kind == "i32" else BYTE_LOAD)
        body += at + used + ADD
    return body


PROGRAM = """
const [before, after, address] = JSON.parse(require("fs").readFileSync(0));
const results = [before, after].map((hex) => {
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(Buffer.from(hex, "hex")));
  const bytes = new Uint8Array(exports.memory.buffer);
  for (let i = 0, state = 1; i < bytes.length; i++) bytes[i] = state = (state * 75 + 74) % 65537;
  return Object.keys(exports).filter((name) => name !== "memory").map((name) => exports[name](address));
});
console.log(JSON.stringify(results));
"""


@pytest.mark.skipif(shutil.which("node") is None, reason="there is no Node here")
def test_with_offsets_keeps_the_result(tmp_path: Path) -> None:
    draw = random.Random(4)
    before = module(*(drawn(draw) for _ in range(300)))
    after = with_offsets(before)
    assert len(after) < len(before) - 1000
    given = json.dumps([before.hex(), after.hex(), 40_000])
    process = subprocess.run(["node", "-e", PROGRAM], input=given, capture_output=True, text=True, check=True)
    first, second = json.loads(process.stdout)
    assert first == second
    assert len(set(first)) > 250
