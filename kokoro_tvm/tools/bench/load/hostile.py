"""Hostile clients: texts that take long to read, speeches that nobody hears, sessions that only fill."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import aiohttp

__all__ = ["beside_hostile_clients"]

_SPEECH = "/v1/audio/speech"
_LONG = "He ran to the house, and a dog did it too. " * 100
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
_PAUSE = 0.1  # seconds between two acts: the machine is the server's, which is measured


@contextlib.asynccontextmanager
async def beside_hostile_clients(url: str, number: int) -> AsyncIterator[None]:
    """`number` hostile clients of the server at `url`, of three kinds in turns, until the block ends.

    Raises aiohttp.ClientError where the server fails at a request or no longer answers.
    """
    over = asyncio.Event()
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as http:

        async def client(place: int) -> None:
            act = (_send, _leave, _fill)[place % 3]
            while not over.is_set():
                await act(http, url, place)
                await asyncio.sleep(_PAUSE)
                place += 3

        tasks = [asyncio.create_task(client(place)) for place in range(number)]
        try:
            yield
        finally:
            over.set()
            await asyncio.gather(*tasks)


async def _send(http: aiohttp.ClientSession, url: str, place: int) -> None:
    path, body = _REQUESTS[place // 3 % len(_REQUESTS)]
    async with http.post(url + path, json=body) as answer:
        await answer.read()
        if answer.status >= 500:
            answer.raise_for_status()


async def _leave(http: aiohttp.ClientSession, url: str, place: int) -> None:
    answer = await http.post(url + _SPEECH, json={"input": _LONG, "response_format": "pcm"})
    answer.close()


async def _fill(http: aiohttp.ClientSession, url: str, place: int) -> None:
    async with http.ws_connect(f"{url}/v1/audio/speech/stream") as socket:
        for _ in range(20):
            await socket.send_json({"type": "input_text.append", "text": "a " * 40_000})
