"""Records: what they say, and that damage to any byte of one is found."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kokoro_tvm.build.digest import digest
from kokoro_tvm.build.record import Output, Record

INGREDIENTS = {"b": [1, 2], "a": {"ɹ": None}}
RECORD = Record("cpu.compile.x", INGREDIENTS, (Output("x.so", 4, "5694d08a"),), 1.5, 1.25, 1e9)
STORED = RECORD.to_bytes()


def test_there_and_back() -> None:
    assert Record.from_bytes(STORED) == RECORD
    assert RECORD.key == digest({"a": {"ɹ": None}, "b": [1, 2]})
    assert (RECORD.size, RECORD.sha256("x.so")) == (4, "5694d08a")


@given(bit=st.integers(0, 8 * len(STORED) - 1))
def test_a_flipped_bit_is_found(bit: int) -> None:
    damaged = bytearray(STORED)
    damaged[bit // 8] ^= 1 << bit % 8
    with pytest.raises(ValueError):
        Record.from_bytes(bytes(damaged))


@given(length=st.integers(0, len(STORED) - 1))
def test_a_missing_end_is_found(length: int) -> None:
    with pytest.raises(ValueError):
        Record.from_bytes(STORED[:length])


@pytest.mark.parametrize(
    "stored", [b"[]", b"{}", b"null", b'{"outputs": [{}], "digest": ""}', b"[" * 100_000, b'"\xff"']
)
def test_what_is_no_record(stored: bytes) -> None:
    with pytest.raises(ValueError):
        Record.from_bytes(stored)
