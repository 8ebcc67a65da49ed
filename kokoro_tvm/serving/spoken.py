"""Answers that are sent while they are computed."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Mapping, Sequence

from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from kokoro_tvm.common.words import truncate
from kokoro_tvm.runtime.speech.stream import Chunk
from kokoro_tvm.serving.bodies import Body
from kokoro_tvm.serving.downloads import kept
from kokoro_tvm.serving.errors import ApiError, error_of
from kokoro_tvm.serving.requests import SpeechRequest
from kokoro_tvm.serving.scheduler import Computation, SpeechJob
from kokoro_tvm.serving.service import Service

__all__ = ["ComputedResponse", "SpokenResponse", "answer", "notices_header"]

_LONGEST_HEADER, _LONGEST_NOTICE = 4000, 300  # characters; clients and proxies take 8 kB of headers
_BLOCK = 1 << 18  # bytes that are sent at a time
_log = logging.getLogger("kokoro_tvm.serving")


async def answer(
    service: Service,
    request: Request,
    wanted: SpeechRequest,
    body: Callable[[int | None], Body],
    headers: dict[str, str],
) -> SpokenResponse:
    """The answer to a request for the speech of a text, with the headers that say what became of its fields.

    Raises BusyError.
    """
    job, names = service.speak(wanted, request), wanted.ignored
    if (download := await service.download(wanted)) is not None:
        headers["X-Download-Path"] = download.path
        format = wanted.download_format or wanted.response_format
        body = kept(body, download, format, wanted.volume_multiplier)
    elif wanted.return_download_link:
        names.append("return_download_link")
    if names:
        headers["X-Ignored-Fields"] = ", ".join(names)
    return SpokenResponse(job, body, headers, service.settings.patience, whole=not wanted.stream)


def notices_header(notices: Sequence[str]) -> dict[str, str]:
    """Return the header with notices: a list in JSON, ASCII, of as many as fit; none where there are none."""
    shown = [truncate(notice, _LONGEST_NOTICE) for notice in notices]
    while len(value := json.dumps(shown)) > _LONGEST_HEADER:
        shown.pop()
    return {"X-Notices": value} if shown else {}


class ComputedResponse:
    """A response that a job computes, which ends when the client hangs up."""

    def __init__(self, job: Computation) -> None:
        """job: whose result is a response."""
        self._job = job

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        watcher = asyncio.create_task(_cancel_on_hangup(self._job, receive))
        try:
            async with self._job:
                response = await self._job.result()
        except Exception as error:
            response = _error_of(error).response()
        finally:
            watcher.cancel()
        if response is not None:
            await response(scope, receive, send)


class SpokenResponse:
    """An answer of what a job speaks, piece by piece; the job ends when the client hangs up.

    What fails before the first sound is an answer with an error. Later a body may have words for it, else the
    connection is cut, so that a client never takes a part for the whole.
    """

    def __init__(
        self,
        job: SpeechJob,
        body: Callable[[int | None], Body],
        headers: Mapping[str, str],
        patience: float,
        whole: bool = False,
    ) -> None:
        """body: for the number of samples, None where it is not known; patience: seconds that a client may
        take to receive what the network's buffers do not hold; whole: whether nothing is sent before all of
        it is there."""
        self._job = job
        self._make = body
        self._headers = dict(headers) | {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        self._patience = patience
        self._whole = whole

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        watcher = asyncio.create_task(_cancel_on_hangup(self._job, receive))
        try:
            async with self._job:
                await self._answer(scope, receive, send)
        finally:
            watcher.cancel()

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            body = await asyncio.to_thread(self._make, await self._job.begin())
            whole = await self._all(body) if self._whole else None
        except Exception as error:
            await _error_of(error).response()(scope, receive, send)
            return
        if self._job.cancelled:
            return
        await send(self._start(body, whole))
        if whole is not None:
            await self._send(send, whole, more=False)
            return
        try:
            async for chunk in self._job:
                await self._send(send, await asyncio.to_thread(self._written, body, chunk))
            if self._job.cancelled:
                return
            last = await asyncio.to_thread(self._closed, body)
        except asyncio.TimeoutError:  # noqa: UP041 - in Python 3.10 it is another
            _log.warning("client too slow", extra={"patience_s": self._patience})
            return
        except Exception as error:
            words = body.fail(_error_of(error))
            if words is None:
                return  # without the end of the body: the server cuts the connection
            last = words
        await self._send(send, last, more=False)

    async def _all(self, body: Body) -> bytes:
        parts = [await asyncio.to_thread(self._written, body, chunk) async for chunk in self._job]
        return await asyncio.to_thread(lambda: b"".join([*parts, self._closed(body)]))

    def _written(self, body: Body, chunk: Chunk) -> bytes:
        return body.note(self._job.take_notices()) + body.write(chunk)

    def _closed(self, body: Body) -> bytes:
        return body.note(self._job.take_notices()) + body.close()

    def _start(self, body: Body, whole: bytes | None) -> dict[str, object]:
        headers = self._headers | {"Content-Type": body.media_type} | notices_header(self._job.notices)
        size = body.size if whole is None else len(whole)
        if size is not None:
            headers["Content-Length"] = str(size)
        raw = [(name.lower().encode(), value.encode("latin-1")) for name, value in headers.items()]
        return {"type": "http.response.start", "status": 200, "headers": raw}

    async def _send(self, send: Send, data: bytes, more: bool = True) -> None:
        """In blocks, between which the server does what else there is to do."""
        for place in range(0, len(data), _BLOCK):
            await self._send_block(send, data[place : place + _BLOCK], more=True)
        if not more:
            await self._send_block(send, b"", more=False)

    async def _send_block(self, send: Send, data: bytes, more: bool) -> None:
        message = {"type": "http.response.body", "body": data, "more_body": more}
        await asyncio.wait_for(send(message), self._patience)


async def _cancel_on_hangup(job: SpeechJob, receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    job.cancel()


def _error_of(error: Exception) -> ApiError:
    shown = error_of(error)
    if shown.status >= 500:
        _log.error("synthesis failed", exc_info=error)
    return shown
