"""Events of Wyoming: a line of JSON, then the bytes of JSON and of audio that the line announces."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from kokoro_tvm.serving.errors import ApiError
from kokoro_tvm.serving.json_input import read_json

_VERSION = "1.10.2"  # of the protocol, as its reference implementation, the package wyoming, numbers it

BLOCK = 1 << 16
"""Bytes that are read at a time; asyncio buffers up to twice as many."""


@dataclass(frozen=True)
class Event:
    """An event.

    Attributes:
        type: Its name.
        data: JSON.
        payload: Audio.
        size: Bytes of its line and data as they arrived.
    """

    type: str
    data: Mapping[str, Any] = field(default_factory=dict)
    payload: bytes = b""
    size: int = 0


def encode(event: Event) -> bytes:
    """Return the bytes of an event."""
    data = json.dumps(event.data).encode() if event.data else b""
    head: dict[str, Any] = {"type": event.type, "version": _VERSION}
    if data:
        head["data_length"] = len(data)
    if event.payload:
        head["payload_length"] = len(event.payload)
    return b"".join((json.dumps(head).encode(), b"\n", data, event.payload))


async def read_event(
    reader: asyncio.StreamReader, max_bytes: int, hold: Callable[[int], None]
) -> Event | None:
    """Read the next event without its payload; None at the end.

    Args:
        reader: Of the client.
        max_bytes: Bytes of each part of an event.
        hold: Called with the number of bytes of each block that is kept.

    Raises:
        ApiError: The input is not an event, or a part of it is too large.
    """
    try:
        line = await _read_line(reader, max_bytes, hold)
    except asyncio.IncompleteReadError as error:
        if error.partial.strip():
            raise _invalid_event("it ends early") from None
        return None
    head = await _parse_object(line)
    kind, data = head.get("type"), head.get("data") or {}
    if not isinstance(kind, str) or not isinstance(data, dict):
        raise _invalid_event("it needs a string `type`, and `data` is an object")
    try:
        more = bytearray()
        length = _read_length(head, "data_length", max_bytes)
        while len(more) < length:
            part = await reader.readexactly(min(BLOCK, length - len(more)))
            more += part
            hold(len(part))
        payload = _read_length(head, "payload_length", max_bytes)  # audio, which only recognizers need
        for start in range(0, payload, BLOCK):
            await reader.readexactly(min(BLOCK, payload - start))
    except asyncio.IncompleteReadError:
        raise _invalid_event("it ends early") from None
    return Event(kind, data | (await _parse_object(more) if more else {}), size=len(line) + len(more))


async def _read_line(reader: asyncio.StreamReader, max_bytes: int, hold: Callable[[int], None]) -> bytearray:
    """Read a line. Raises ApiError if it is longer than `max_bytes`."""
    line = bytearray()
    while not line.endswith(b"\n"):
        try:
            part = await reader.readuntil(b"\n")
        except asyncio.LimitOverrunError as error:  # the line is longer than the reader's buffer
            part = await reader.readexactly(error.consumed)
        line += part
        hold(len(part))
        if len(line) > max_bytes:
            raise _invalid_event(f"its line is longer than {max_bytes} bytes")
    return line


def _read_length(head: Mapping[str, Any], name: str, limit: int) -> int:
    """Return the length of a part of an event. Raises ApiError beyond `limit`."""
    length = head.get(name) or 0
    if not isinstance(length, int) or not 0 <= length <= limit:
        raise _invalid_event(f"its {name} should be a whole number up to {limit}")
    return length


async def _parse_object(data: bytearray) -> dict[str, Any]:
    """Parse a JSON object. Raises ApiError if it is none."""
    node = await read_json(data, "The event")
    if not isinstance(node, dict):
        raise _invalid_event("it is not a JSON object")
    return node


def _invalid_event(reason: str) -> ApiError:
    """Return the error of input that is no event."""
    return ApiError(400, f"This is not an event of Wyoming: {reason}.", code="invalid_event")
