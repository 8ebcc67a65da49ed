"""Clients of a speech server, all at once: what they hear, when, and whether it is what they requested."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import aiohttp

from kokoro_tvm.tools.bench.load.workload import Workload

__all__ = ["AudioDigest", "ClientResponse", "drive", "speak_alone"]

_SILENCE = 600.0  # seconds without a byte after which an answer counts as lost


@dataclass(frozen=True)
class AudioDigest:
    """The audio of a text: its bytes and their digest."""

    size: int
    sha256: str


@dataclass(frozen=True)
class ClientResponse:
    """What a client got.

    first_sound, seconds: from the request to the first and to the last byte of audio; problem: "" where the
    audio is that of the text alone, else what it was instead.
    """

    text: str
    first_sound: float
    seconds: float
    size: int
    problem: str


async def speak_alone(url: str, workload: Workload) -> dict[str, AudioDigest]:
    """Every text of a workload, spoken while nothing else is. Raises aiohttp.ClientError where that fails."""
    found = {}
    async with _session() as session:
        for text in workload.texts:
            async with session.post(url, json=_body(text)) as answer:
                answer.raise_for_status()
                audio = await answer.read()
            found[text] = AudioDigest(len(audio), hashlib.sha256(audio).hexdigest())
    return found


async def drive(
    url: str,
    workload: Workload,
    alone: Mapping[str, AudioDigest],
    clients: int,
    seconds: float,
    exact: bool = True,
    first: int = 0,
) -> list[ClientResponse]:
    """The answers that clients got who requested one text after another until `seconds` were over.

    exact: whether equal texts give equal bytes; else lengths are compared. first: number of the first client,
    by which all of them draw their texts.
    """
    end = time.monotonic() + seconds
    async with _session() as session:

        async def client(number: int) -> list[ClientResponse]:
            return [await _request(session, url, text, alone[text], exact) for text in _until(end, number)]

        def _until(end: float, number: int) -> Iterator[str]:
            for text in workload.requests(number):
                yield text
                if time.monotonic() >= end:
                    return

        return [
            answer
            for each in await asyncio.gather(*map(client, range(first, first + clients)))
            for answer in each
        ]


async def _request(
    session: aiohttp.ClientSession, url: str, text: str, alone: AudioDigest, exact: bool
) -> ClientResponse:
    started = time.perf_counter()
    first = None
    digest, size, problem = hashlib.sha256(), 0, ""
    try:
        async with session.post(url, json=_body(text)) as answer:
            if answer.status != 200:
                problem = f"status {answer.status}"
            else:
                async for part in answer.content.iter_any():
                    first = first or time.perf_counter()
                    digest.update(part)
                    size += len(part)
    except (aiohttp.ClientError, asyncio.TimeoutError) as error:  # noqa: UP041 - in Python 3.10 it is another
        problem = f"cut off: {type(error).__name__}"
    ended = time.perf_counter()
    same = digest.hexdigest() == alone.sha256 if exact else size == alone.size
    return ClientResponse(
        text, (first or ended) - started, ended - started, size, problem or ("" if same else "another")
    )


def _body(text: str) -> dict[str, str]:
    return {"input": text, "voice": "af_heart", "model": "kokoro", "response_format": "pcm"}


def _session() -> aiohttp.ClientSession:
    limit = aiohttp.ClientTimeout(total=None, sock_read=_SILENCE)
    return aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0), timeout=limit)
