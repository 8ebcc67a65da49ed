"""Responses that a job computes: streamed speech, and results of computations."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from fastapi import Request, Response
from starlette.types import Receive, Scope, Send

from kokoro_tvm.runtime.speech.stream import Chunk
from kokoro_tvm.serving.bodies import AudioBody, Body
from kokoro_tvm.serving.computation import Computation
from kokoro_tvm.serving.downloads import with_download
from kokoro_tvm.serving.errors import ApiError, describe_error
from kokoro_tvm.serving.jobs import SpeechJob
from kokoro_tvm.serving.requests import SpeechRequest
from kokoro_tvm.serving.service import Service

_MAX_HEADER_LENGTH = 4000  # characters; clients and proxies take 8 kB of headers
_BLOCK_BYTES = 1 << 18  # sent at a time; between two blocks the event loop serves others
_log = logging.getLogger("kokoro_tvm.serving")


def content_of(*media_types: str) -> dict[int | str, dict[str, Any]]:
    """Describe the media types of a successful response, for the OpenAPI document."""
    return {200: {"description": "The answer.", "content": {media_type: {} for media_type in media_types}}}


async def respond_with_speech(
    service: Service,
    request: Request,
    speech: SpeechRequest,
    create_body: Callable[[int | None], Body],
    headers: dict[str, str],
) -> SpeechResponse:
    """Create the response to a request for the speech of a text, with headers about its fields.

    Raises:
        BusyError: The queue is full.
    """
    job, ignored = service.speak(speech, request), speech.ignored
    download = await service.create_download(speech)
    if download is not None:
        headers["X-Download-Path"] = download.path
        format = speech.download_format or speech.response_format
        audio = partial(AudioBody, format, speech.volume_multiplier, sample_rate=speech.sample_rate)
        create_body = with_download(create_body, download, audio)
    elif speech.return_download_link:
        ignored.append("return_download_link")
    if ignored:
        headers["X-Ignored-Fields"] = ", ".join(ignored)
    timeout_s = service.settings.write_timeout_s
    return SpeechResponse(job, create_body, headers, timeout_s, is_whole=not speech.stream)


def notices_header(notices: Sequence[str]) -> dict[str, str]:
    """Return the header with as many notices as fit, as a JSON list in ASCII."""
    shown = list(notices)
    while len(value := json.dumps(shown)) > _MAX_HEADER_LENGTH:
        shown.pop()
    return {"X-Notices": value} if shown else {}


class ComputedResponse(Response):
    """The response that a computation returns. The job ends when the client hangs up."""

    def __init__(self, job: Computation) -> None:
        super().__init__()
        self._job = job

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the response."""
        watcher = asyncio.create_task(_cancel_on_hangup(self._job, receive))
        try:
            async with self._job:
                response: Response | None = await self._job.result()
        except Exception as error:
            response = _describe(error).response()
        finally:
            watcher.cancel()
        if response is not None:
            response.headers.update(notices_header(self._job.notices))
            await response(scope, receive, send)


class SpeechResponse(Response):
    """The speech of a job, piece by piece. The job ends when the client hangs up.

    A failure before the first audio is an error response. After it, the body may end with the error; else the
    connection is cut, so that a client never takes a part for the whole.
    """

    def __init__(
        self,
        job: SpeechJob,
        create_body: Callable[[int | None], Body],
        headers: Mapping[str, str],
        write_timeout_s: float,
        is_whole: bool = False,
    ) -> None:
        """Create a response.

        Args:
            job: The job, started.
            create_body: Creates the body for a number of samples, or for None if that is unknown.
            headers: Of the response, besides those of the body.
            write_timeout_s: Seconds that a client may take to read what the network's buffers do not hold.
            is_whole: Send nothing before all of the audio is computed.
        """
        super().__init__()
        self._job = job
        self._create_body = create_body
        self._speech_headers = dict(headers) | {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        self._write_timeout_s = write_timeout_s
        self._is_whole = is_whole

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the response."""
        watcher = asyncio.create_task(_cancel_on_hangup(self._job, receive))
        try:
            async with self._job:
                await self._respond(scope, receive, send)
        finally:
            watcher.cancel()

    async def _respond(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the speech as it is spoken, or as a whole; before the first audio, errors get their status."""
        try:
            body = await asyncio.to_thread(self._create_body, await self._job.begin())
            whole = await self._encode_all(body) if self._is_whole else None
        except Exception as error:
            await _describe(error).response()(scope, receive, send)
            return
        if self._job.cancelled:
            return
        await send(self._start_message(body, whole))
        if whole is not None:
            await self._send(send, whole, more=False)
            return
        try:
            async for chunk in self._job:
                await self._send(send, await asyncio.to_thread(self._encode, body, chunk))
            if self._job.cancelled:
                return
            last = await asyncio.to_thread(self._close, body)
        except asyncio.TimeoutError:  # noqa: UP041 - in Python 3.10 it is another
            _log.warning("client too slow", extra={"write_timeout_s": self._write_timeout_s})
            return
        except Exception as error:
            end = body.fail(_describe(error))
            if end is None:
                return  # without the end of the body: uvicorn cuts the connection
            last = end
        await self._send(send, last, more=False)

    async def _encode_all(self, body: Body) -> bytes:
        """Return the whole body."""
        parts = [await asyncio.to_thread(self._encode, body, chunk) async for chunk in self._job]
        return await asyncio.to_thread(lambda: b"".join([*parts, self._close(body)]))

    def _encode(self, body: Body, chunk: Chunk) -> bytes:
        """Encode new notices and a chunk."""
        return body.note(self._job.take_notices()) + body.write(chunk)

    def _close(self, body: Body) -> bytes:
        """Encode the last notices, and return the end of the body."""
        return body.note(self._job.take_notices()) + body.close()

    def _start_message(self, body: Body, whole: bytes | None) -> dict[str, object]:
        """Return the head of the response, with the length of the body if it is known."""
        headers = self._speech_headers | {"Content-Type": body.media_type} | notices_header(self._job.notices)
        size = body.size if whole is None else len(whole)
        if size is not None:
            headers["Content-Length"] = str(size)
        raw = [(name.lower().encode(), value.encode("latin-1")) for name, value in headers.items()]
        return {"type": "http.response.start", "status": 200, "headers": raw}

    async def _send(self, send: Send, data: bytes, more: bool = True) -> None:
        """Send a part of the body in blocks. Raises TimeoutError if the client reads too slowly."""
        blocks = [data[start : start + _BLOCK_BYTES] for start in range(0, len(data), _BLOCK_BYTES)]
        messages = [{"type": "http.response.body", "body": block, "more_body": True} for block in blocks]
        if not more:
            messages.append({"type": "http.response.body", "body": b"", "more_body": False})
        for message in messages:
            await asyncio.wait_for(send(message), self._write_timeout_s)


async def _cancel_on_hangup(job: SpeechJob, receive: Receive) -> None:
    """Cancel the job when the client disconnects."""
    while (await receive())["type"] != "http.disconnect":
        pass
    job.cancel()


def _describe(error: Exception) -> ApiError:
    """Convert an error to a response; log it if it is the server's."""
    response = describe_error(error)
    if response.status_code >= 500:
        _log.error("synthesis failed", exc_info=error)
    return response
