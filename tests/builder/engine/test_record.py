"""Records of stages: serialization and damage."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kokoro_tvm.builder.engine.digest import digest
from kokoro_tvm.builder.engine.record import Output, StageRecord

DERIVATION = {"b": [1, 2], "a": {"ɹ": None}}
RECORD = StageRecord("cpu.compile.x", DERIVATION, (Output("x.so", 4, "5694d08a"),), 1.5, 1.25, 1e9)
SECRET = b"0123456789abcdef"
STORED, SIGNED = RECORD.to_bytes(), RECORD.to_bytes(SECRET)


def test_record_survives_a_round_trip() -> None:
    assert StageRecord.from_bytes(STORED) == RECORD
    assert StageRecord.from_bytes(SIGNED, SECRET) == StageRecord.from_bytes(SIGNED) == RECORD
    assert RECORD.key == digest({"a": {"ɹ": None}, "b": [1, 2]})
    assert (RECORD.size, RECORD.sha256("x.so")) == (4, "5694d08a")


@given(bit=st.integers(0, 8 * len(STORED) - 1))
def test_from_bytes_detects_a_flipped_bit(bit: int) -> None:
    with pytest.raises(ValueError):
        StageRecord.from_bytes(flipped(STORED, bit))


def flipped(stored: bytes, bit: int) -> bytes:
    damaged = bytearray(stored)
    damaged[bit // 8] ^= 1 << bit % 8
    return bytes(damaged)


@given(bit=st.integers(0, 8 * len(SIGNED) - 1))
def test_from_bytes_detects_a_flipped_bit_of_a_signed_record(bit: int) -> None:
    with pytest.raises(ValueError):
        StageRecord.from_bytes(flipped(SIGNED, bit), SECRET)


@given(secret=st.binary(min_size=1))
def test_from_bytes_refuses_a_missing_or_wrong_hmac(secret: bytes) -> None:
    with pytest.raises(ValueError, match="it has no HMAC"):
        StageRecord.from_bytes(STORED, secret)
    if secret.rstrip(b"\0") != SECRET:  # HMAC fills keys up with zeros
        with pytest.raises(ValueError, match="made with another key"):
            StageRecord.from_bytes(SIGNED, secret)


@given(length=st.integers(0, len(STORED) - 1))
def test_from_bytes_detects_a_missing_end(length: int) -> None:
    with pytest.raises(ValueError):
        StageRecord.from_bytes(STORED[:length])


@pytest.mark.parametrize(
    "stored", [b"[]", b"{}", b"null", b'{"outputs": [{}], "digest": ""}', b"[" * 100_000, b'"\xff"']
)
def test_from_bytes_refuses_other_json(stored: bytes) -> None:
    with pytest.raises(ValueError):
        StageRecord.from_bytes(stored)
