"""A client of the WebSocket for language models, for tests."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import aiohttp
from serving import Server

T = TypeVar("T")
CREATED = {
    "model": "kokoro",
    "voice": None,
    "response_format": "pcm",
    "speed": 1.0,
    "language": None,
    "volume_multiplier": 1.0,
    "sample_rate": None,
    "seed": 0,
    "markup": True,
    "omit": [],
    "words": True,
}


class Client:
    """One session."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self.socket = socket

    async def send(self, kind: str, **fields: Any) -> None:
        await self.socket.send_json({"type": kind, **fields})

    async def say(self, text: str, size: int = 10_000) -> None:
        for place in range(0, len(text), size):
            await self.send("input_text.append", text=text[place : place + size])

    async def next(self, kind: str | None = None) -> dict[str, Any]:
        """The next event, or the next of a type."""
        while True:
            event: dict[str, Any] = await self.socket.receive_json(timeout=30)
            if kind in (None, event["type"]):
                return event

    async def speech(self) -> tuple[str, bytes, list[dict[str, Any]]]:
        """(status, audio, words) of the next speech, whose events carry its id."""
        audio, words, ids = b"", [], set()
        while True:
            event = await self.next()
            assert event["type"] != "error", event
            ids.add(event["speech_id"])
            if event["type"] == "speech.audio.delta":
                audio += base64.b64decode(event["audio"])
            elif event["type"] == "speech.audio.words":
                words += event["words"]
            elif event["type"] == "speech.audio.done":
                assert len(ids) == 1
                return event["status"], audio, words


def talk(server: Server, conversation: Callable[[Client], Awaitable[T]]) -> T:
    async def run() -> T:
        limit = aiohttp.ClientWSTimeout(ws_close=1.0)
        async with (
            aiohttp.ClientSession() as http,
            http.ws_connect(address(server), timeout=limit) as socket,
        ):
            client = Client(socket)
            assert await client.next() == {"type": "session.created", "session": CREATED}
            return await conversation(client)

    return asyncio.run(run())


def address(server: Server) -> str:
    return f"ws://127.0.0.1:{server.port}/v1/audio/speech/stream"
