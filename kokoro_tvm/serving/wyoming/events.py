"""Events of Wyoming: a line of JSON, then as many bytes of JSON and of audio as the line says."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from kokoro_tvm.serving.body import aside_if_large, parse_json
from kokoro_tvm.serving.errors import ApiError

__all__ = ["BLOCK", "Event", "encode", "read_event"]

_VERSION = "1.10.2"  # of the protocol as its reference implementation, the package wyoming, numbers it


BLOCK = 1 << 16
"""Bytes that are read of a client at a time; asyncio keeps as many again."""


@dataclass(frozen=True)
class Event:
    """data: of JSON; payload: audio; size: bytes of its line and data as they came."""

    type: str
    data: Mapping[str, Any] = field(default_factory=dict)
    payload: bytes = b""
    size: int = 0


def encode(event: Event) -> bytes:
    """The bytes of an event."""
    data = json.dumps(event.data).encode() if event.data else b""
    head: dict[str, Any] = {"type": event.type, "version": _VERSION}
    if data:
        head["data_length"] = len(data)
    if event.payload:
        head["payload_length"] = len(event.payload)
    return b"".join((json.dumps(head).encode(), b"\n", data, event.payload))


async def read_event(reader: asyncio.StreamReader, most: int, hold: Callable[[int], None]) -> Event | None:
    """The next event without its payload, None at the end.

    most: bytes of each part; hold: called with the number of bytes of each block that is kept. Raises
    ApiError for what is no event, and one with a part that is too large.
    """
    try:
        line = await _read_line(reader, most, hold)
    except asyncio.IncompleteReadError as error:
        if error.partial.strip():
            raise _wrong("it ends early") from None
        return None
    head = await _object(line)
    kind, data = head.get("type"), head.get("data") or {}
    if not isinstance(kind, str) or not isinstance(data, dict):
        raise _wrong("it needs a string `type`, and `data` is an object")
    try:
        more = bytearray()
        length = _length(head, "data_length", most)
        while len(more) < length:
            part = await reader.readexactly(min(BLOCK, length - len(more)))
            more += part
            hold(len(part))
        payload = _length(head, "payload_length", most)  # audio, which is for others
        for place in range(0, payload, BLOCK):
            await reader.readexactly(min(BLOCK, payload - place))
    except asyncio.IncompleteReadError:
        raise _wrong("it ends early") from None
    return Event(kind, data | (await _object(more) if more else {}), size=len(line) + len(more))


async def _read_line(reader: asyncio.StreamReader, most: int, hold: Callable[[int], None]) -> bytearray:
    """Read a line; raises ApiError for one that is longer than `most` bytes."""
    line = bytearray()
    while not line.endswith(b"\n"):
        try:
            part = await reader.readuntil(b"\n")
        except asyncio.LimitOverrunError as error:  # the line is longer than the reader's buffer
            part = await reader.readexactly(error.consumed)
        line += part
        hold(len(part))
        if len(line) > most:
            raise _wrong(f"its line is longer than {most} bytes")
    return line


def _length(head: Mapping[str, Any], name: str, most: int) -> int:
    length = head.get(name) or 0
    if not isinstance(length, int) or not 0 <= length <= most:
        raise _wrong(f"its {name} should be a whole number up to {most}")
    return length


async def _object(data: bytearray) -> dict[str, Any]:
    node = await aside_if_large(data, partial(parse_json, data, "The event"))
    if not isinstance(node, dict):
        raise _wrong("it is no JSON object")
    return node


def _wrong(reason: str) -> ApiError:
    return ApiError(400, f"This is no event of Wyoming: {reason}.", code="invalid_event")
