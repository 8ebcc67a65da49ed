"""Limits that settings change: each is at its work where it is said to be."""

from __future__ import annotations

import asyncio
import json
import re
import socket
from collections.abc import Callable
from pathlib import Path

import aiohttp
import pytest
from serving import Server, wait_for
from sessions import address

from kokoro_tvm.serve.metrics import Metrics
from kokoro_tvm.serve.pieces import open_cache
from kokoro_tvm.serve.settings import Settings, settings

DOCS = Path(__file__).parents[2] / "docs/serving.md"


def answer(port: int, data: bytes) -> bytes:
    """What comes until the server closes the connection."""
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        connection.sendall(data)
        parts = []
        try:
            while part := connection.recv(1 << 16):
                parts.append(part)
        except ConnectionError:
            pass
        return b"".join(parts)


def test_the_head_of_a_request(start: Callable[..., Server]) -> None:
    server = start(most_head_bytes=2000)
    head = b"GET /health HTTP/1.1\r\nHost: a\r\nConnection: close\r\nX: %s"
    assert answer(server.port, head % (b"a" * 1500) + b"\r\n\r\n").startswith(b"HTTP/1.1 200")
    assert answer(server.port, head % (b"a" * 4000)).startswith(b"HTTP/1.1 400")


def test_a_message_of_a_session(start: Callable[..., Server]) -> None:
    server = start(most_bytes=2000)

    async def closed_after(size: int) -> aiohttp.WSMsgType:
        async with aiohttp.ClientSession() as http, http.ws_connect(address(server)) as socket:
            await socket.receive()  # session.created
            await socket.send_str(json.dumps({"type": "input_text.append", "text": "a" * size}))
            await socket.send_str(json.dumps({"type": "nothing"}))
            return (await socket.receive(timeout=30)).type

    assert asyncio.run(closed_after(1000)) is aiohttp.WSMsgType.TEXT
    assert asyncio.run(closed_after(4000)) is aiohttp.WSMsgType.CLOSE


@pytest.mark.parametrize("data", [b" " * 5000, b'{"type": "ping", "data_length": 2001}\n'])
def test_an_event_of_wyoming(start: Callable[..., Server], data: bytes) -> None:
    server = start(wyoming=0, most_bytes=2000)
    assert b"2000" in answer(server.wyoming.port, data)


def test_clients_of_wyoming(start: Callable[..., Server]) -> None:
    server = start(wyoming=0, most_sessions=1)
    with socket.create_connection(("127.0.0.1", server.wyoming.port), timeout=30):
        wait_for(lambda: len(server.wyoming._clients) == 1)
        assert b"1 clients are connected, which is the most" in answer(server.wyoming.port, b"")


def test_a_text_of_wyoming(start: Callable[..., Server]) -> None:
    server = start(wyoming=0, most_characters=10)
    event = {"type": "synthesize", "data": {"text": "a" * 11}}
    assert b"0 to 10 may be" in answer(server.wyoming.port, json.dumps(event).encode() + b"\n")


def test_the_schedulers(start: Callable[..., Server]) -> None:
    made = start(most_requests=3, ahead=4.0, longest=5.0, longest_pause=6.0, head_start=7.0).service.scheduler
    found = (made.most, made.ahead, made.longest, made.longest_pause, made.head_start)
    assert found == (3, 4.0, 5.0, 6.0, 7.0)


def test_the_caches(tmp_path: Path) -> None:
    chosen = Settings(cache=str(tmp_path), cache_size=2, cache_patience=3.0, cache_rest=4.0, cache_waiting=5)
    cache = open_cache(chosen, Metrics())
    assert cache is not None
    assert (cache._patience, cache._rest, cache._most) == (3.0, 4.0, 5 << 20)
    cache.close()


def test_no_default_is_written_in_prose() -> None:
    """A number beside the table would be wrong where the setting is another: the docs name the setting."""
    page = re.sub(r"<!-- (\w+) -->.*?<!-- /\1 -->", "", DOCS.read_text(encoding="utf-8"), flags=re.DOTALL)
    for setting in settings():
        if setting.name.startswith(("most_", "longest")) or setting.name in {"silence", "patience"}:
            shown = f"{setting.default:,g}" if isinstance(setting.default, float) else f"{setting.default:,}"
            assert not re.search(rf"\b{shown} (characters|requests|speeches|sessions|clients|s\b)", page), (
                shown
            )
