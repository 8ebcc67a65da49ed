"""Concurrent clients of a speech server: time to first audio, duration, and whether the audio is right."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Mapping
from dataclasses import dataclass

import aiohttp

from kokoro_tvm.tools.bench.load.workload import Workload

_READ_TIMEOUT_S = 600.0


@dataclass(frozen=True)
class AudioDigest:
    """Size and digest of the audio of a text."""

    size: int
    sha256: str


@dataclass(frozen=True)
class ClientResponse:
    """Response to one client.

    Attributes:
        text: The requested text.
        first_sound: Seconds from the request to the first byte of audio.
        seconds: Seconds from the request to the last byte.
        size: Bytes of audio.
        problem: What was wrong; empty if the audio is that of the text alone.
    """

    text: str
    first_sound: float
    seconds: float
    size: int
    problem: str


async def speak_alone(url: str, workload: Workload) -> dict[str, AudioDigest]:
    """Request every text of a workload, one at a time. Raises aiohttp.ClientError if that fails."""
    digests = {}
    async with _open_session() as session:
        for text in workload.texts:
            async with session.post(url, json=_body(text)) as response:
                response.raise_for_status()
                audio = await response.read()
            digests[text] = AudioDigest(len(audio), hashlib.sha256(audio).hexdigest())
    return digests


async def drive(
    url: str,
    workload: Workload,
    alone: Mapping[str, AudioDigest],
    clients: int,
    seconds: float,
    exact: bool = True,
    first: int = 0,
) -> list[ClientResponse]:
    """Run clients that request one text after the other until `seconds` are over.

    Args:
        url: Address of the speech route.
        workload: The texts.
        alone: Digest of every text, by `speak_alone`.
        clients: Number of clients.
        seconds: No request starts after this time.
        exact: Equal texts give equal bytes; otherwise only lengths are compared.
        first: Number of the first client, which decides about the texts.
    """
    end = time.monotonic() + seconds
    async with _open_session() as session:

        async def run_client(number: int) -> list[ClientResponse]:
            """Request the texts of a client until the time is over."""
            responses = []
            for text in workload.requests(number):
                responses.append(await _request(session, url, text, alone[text], exact))
                if time.monotonic() >= end:
                    break
            return responses

        by_client = await asyncio.gather(*map(run_client, range(first, first + clients)))
    return [response for responses in by_client for response in responses]


async def _request(
    session: aiohttp.ClientSession, url: str, text: str, alone: AudioDigest, exact: bool
) -> ClientResponse:
    """Request a text, and compare the audio with that of `speak_alone`."""
    start = time.perf_counter()
    first = None
    digest, size, problem = hashlib.sha256(), 0, ""
    try:
        async with session.post(url, json=_body(text)) as response:
            if response.status != 200:
                problem = f"status {response.status}"
            else:
                async for part in response.content.iter_any():
                    first = first or time.perf_counter()
                    digest.update(part)
                    size += len(part)
    except (aiohttp.ClientError, TimeoutError) as error:
        problem = f"cut off: {type(error).__name__}"
    end = time.perf_counter()
    is_same = digest.hexdigest() == alone.sha256 if exact else size == alone.size
    problem = problem or ("" if is_same else "another")
    return ClientResponse(text, (first or end) - start, end - start, size, problem)


def _body(text: str) -> dict[str, str]:
    """Return the body of a request for a text as PCM."""
    return {"input": text, "voice": "af_heart", "model": "kokoro", "response_format": "pcm"}


def _open_session() -> aiohttp.ClientSession:
    """Open an HTTP session without a limit of connections."""
    timeout = aiohttp.ClientTimeout(total=None, sock_read=_READ_TIMEOUT_S)
    return aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0), timeout=timeout)
