"""Hostile clients: texts that are slow to read, abandoned responses, sessions that only fill buffers."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import aiohttp

_SPEECH = "/v1/audio/speech"
_LONG_TEXT = "He ran to the house, and a dog did it too. " * 100
_REQUESTS: tuple[tuple[str, dict[str, Any]], ...] = (
    (_SPEECH, {"input": "<!---->" * 40 + "x"}),
    (_SPEECH, {"input": "[" * 20_000}),
    (_SPEECH, {"input": "<speak>" + "<p>" * 10_000}),
    (_SPEECH, {"input": "\n \t" * 10_000 + "a"}),
    (_SPEECH, {"input": "." * 50_000 + "a", "response_format": "wav"}),
    ("/dev/captioned_speech", {"input": "[pause:300s]" * 100 + "a"}),
    ("/dev/generate_from_phonemes", {"phonemes": ";" * 50_000}),
    ("/dev/phonemize", {"text": "(" * 9_999 + "a"}),
    (_SPEECH, {"input": "a", "x": [[]] * 100_000}),
)
_PAUSE_S = 0.1  # between two requests of a client, which would take the server's CPU time otherwise


@contextlib.asynccontextmanager
async def beside_hostile_clients(url: str, number: int) -> AsyncIterator[None]:
    """Run hostile clients of three kinds in turns until the block ends.

    Args:
        url: Address of the server.
        number: Number of clients.

    Raises:
        aiohttp.ClientError: The server fails at a request or no longer answers.
    """
    stop = asyncio.Event()
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as http:

        async def run_client(index: int) -> None:
            """Attack the server until the block ends."""
            attack = (_send_unusual, _abandon_speech, _fill_websocket)[index % 3]
            while not stop.is_set():
                await attack(http, url, index)
                await asyncio.sleep(_PAUSE_S)
                index += 3

        tasks = [asyncio.create_task(run_client(index)) for index in range(number)]
        try:
            yield
        finally:
            stop.set()
            await asyncio.gather(*tasks)


async def _send_unusual(http: aiohttp.ClientSession, url: str, index: int) -> None:
    """Send an unusual request. Raises ClientError for a status of 500 or more."""
    path, body = _REQUESTS[index // 3 % len(_REQUESTS)]
    async with http.post(url + path, json=body) as response:
        await response.read()
        if response.status >= 500:
            response.raise_for_status()


async def _abandon_speech(http: aiohttp.ClientSession, url: str, index: int) -> None:
    """Request a long speech, and disconnect before its audio."""
    response = await http.post(url + _SPEECH, json={"input": _LONG_TEXT, "response_format": "pcm"})
    response.close()


async def _fill_websocket(http: aiohttp.ClientSession, url: str, index: int) -> None:
    """Append texts to a WebSocket without a speech being read."""
    async with http.ws_connect(f"{url}/v1/audio/speech/stream") as socket:
        for _ in range(20):
            await socket.send_json({"type": "input_text.append", "text": "a " * 40_000})
