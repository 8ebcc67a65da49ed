"""A WebSocket on which a text comes in pieces, as a language model writes it, and is heard meanwhile.

The names of the events are those of OpenAI's interfaces, and of Mistral's for text in pieces; docs/serving.md
lists them. Each speech ends with one `speech.audio.done`, whatever became of it.
"""

from __future__ import annotations

import asyncio
import base64
import json
import logging
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

from starlette.routing import WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from kokoro_tvm.common.words import truncate
from kokoro_tvm.serving.bodies import Audio, words_of
from kokoro_tvm.serving.body import aside_if_large, parse_json
from kokoro_tvm.serving.errors import ApiError, error_of
from kokoro_tvm.serving.fields import field_of, read, text
from kokoro_tvm.serving.requests import SessionRequest
from kokoro_tvm.serving.scheduler import BusyError, Feed, SpeechJob
from kokoro_tvm.serving.service import Service

__all__ = ["routes"]

_BLOCK = 24_000  # bytes of audio in one event, which are half a second of PCM: common clients take 1 MiB
_log = logging.getLogger("kokoro_tvm.serving")


def routes(service: Service) -> list[WebSocketRoute]:
    """The routes of a server."""
    sessions: set[_Session] = set()

    async def stream(socket: WebSocket) -> None:
        if len(sessions) >= service.settings.most_sessions:
            message = f"{service.settings.most_sessions} sessions are open, which is the most."
            await socket.send_denial_response(ApiError(429, message, code="rate_limit_exceeded").response())
            return
        await socket.accept()
        session = _Session(service, socket)
        sessions.add(session)
        try:
            await session.run()
        finally:
            sessions.discard(session)

    return [WebSocketRoute("/v1/audio/speech/stream", stream)]


@dataclass(frozen=True)
class _Append:
    text: str = field_of(lambda settings: text(settings.most_characters), "A piece of the text.")


@dataclass
class _Speech:
    """One text and its speech; `job` is None where there was no place for it."""

    id: str
    wanted: SessionRequest
    feed: Feed
    job: SpeechJob | None = None
    error: Exception | None = None
    length: int = 0
    cancelled: bool = False

    @property
    def ended(self) -> bool:
        """Whether nothing more of its text is spoken."""
        return self.cancelled or self.error is not None

    def cancel(self, error: Exception | None = None) -> None:
        """End it; `error` says why where the client did not ask for it."""
        self.cancelled = True
        self.error = self.error or error
        self.feed.clear()
        if self.job is not None:
            self.job.cancel()


class _GoneError(Exception):
    """The client left, or does not read what is sent."""


class _Session:
    """Reads events and sends speech until the client goes or has heard everything."""

    def __init__(self, service: Service, socket: WebSocket) -> None:
        self._service = service
        self._settings = service.settings
        self._socket = socket
        self._wanted = SessionRequest()
        self._open: _Speech | None = None  # whose text is not complete
        self._speeches: list[_Speech] = []  # that are not done, in their order
        self._waiting: asyncio.Queue[_Speech | None] = asyncio.Queue()
        self._count = 0
        self._ended = False

    async def run(self) -> None:
        """Serve an accepted socket, and close it."""
        tasks = [asyncio.create_task(self._read()), asyncio.create_task(self._speak())]
        try:
            await self._send("session.created", session=asdict(self._wanted))
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
            await self._socket.close()
        except (_GoneError, WebSocketDisconnect, RuntimeError):  # RuntimeError: closed already
            return
        finally:
            for task in tasks:
                task.cancel()
            self._cancel()
            await asyncio.gather(*tasks, return_exceptions=True)  # both may have ended as the client went

    async def _read(self) -> None:
        """Events until the client goes; what is wrong with one is an event, and the session goes on."""
        while True:
            try:
                message = await asyncio.wait_for(self._socket.receive(), self._settings.silence)
            except asyncio.TimeoutError:  # noqa: UP041
                if self._speeches and self._open is None:
                    continue
                words = f"Nothing came for {self._settings.silence:g} s."
                await self._fail(ApiError(408, words, code="timeout"))
                return
            if message["type"] == "websocket.disconnect":
                raise _GoneError
            node: Any = None
            try:
                data = (message.get("text") or "").encode("utf-8", "replace")
                node = await aside_if_large(data, partial(parse_json, data, "The event"))
                await self._take(node)
            except ApiError as error:
                await self._fail(error, event=node.get("event_id") if isinstance(node, dict) else None)

    async def _take(self, node: Any) -> None:
        kind = node.get("type") if isinstance(node, dict) else None
        if kind == "session.update":
            given = node.get("session")
            current = asdict(self._wanted) | (given if isinstance(given, dict) else {"": given})
            self._wanted, unknown = read(SessionRequest, current, self._settings, "session")
            if unknown:
                name = truncate(repr(unknown[0]))
                raise ApiError(400, f"There is no field {name} of a session.", "session")
            await self._send("session.updated", session=asdict(self._wanted))
        elif kind == "input_text.append":
            await self._append(read(_Append, node, self._settings)[0].text)
        elif kind in ("input_text.flush", "input_text.end"):
            self._flush()
            if kind == "input_text.end" and not self._ended:
                self._ended = True
                self._waiting.put_nowait(None)
        elif kind == "speech.cancel":
            self._cancel()
        else:
            events = "session.update, input_text.append, input_text.flush, input_text.end and speech.cancel"
            raise ApiError(400, f"An event has one of the types {events}.", "type", "invalid_value")

    async def _append(self, piece: str) -> None:
        if self._ended:
            raise ApiError(400, "input_text.append came after input_text.end.", "type", "invalid_value")
        if not piece:
            return
        if self._open is None:
            self._open = await self._begin()
        if self._open.ended:
            return  # what follows is not kept
        self._open.length += len(piece)
        most = self._settings.most_characters
        if self._open.length > most:
            message = f"The text is longer than {most} characters. Flush it before."
            self._open.cancel(ApiError(400, message, "text", "string_above_max_length"))
        else:
            self._open.feed.put(piece)

    async def _begin(self) -> _Speech:
        """A speech in the queue. One without a place fails at once and as a whole: nothing of it is kept."""
        self._count += 1
        speech = _Speech(f"speech_{self._count}", self._wanted, Feed())
        try:
            most = self._settings.most_speeches
            if len(self._speeches) >= most:
                message = f"{most} speeches of this session are not done, which is the most."
                raise ApiError(429, message, code="rate_limit_exceeded")
            speech.job = self._service.speak(speech.wanted.speech, self._socket, speech.feed)
        except (ApiError, BusyError) as error:
            speech.error = error
            await self._end(speech)
        else:
            self._speeches.append(speech)
            self._waiting.put_nowait(speech)
        return speech

    def _flush(self) -> None:
        if self._open is not None:
            self._open.feed.end()
            self._open = None

    def _cancel(self) -> None:
        for speech in self._speeches:
            speech.cancel()
        self._open = None

    async def _speak(self) -> None:
        while (speech := await self._waiting.get()) is not None:
            try:
                await self._audio(speech)
            except _GoneError:
                raise
            except Exception as error:
                speech.error = speech.error or error
            self._speeches.remove(speech)
            await self._end(speech)

    async def _end(self, speech: _Speech) -> None:
        speech.feed.clear()
        if speech.error is not None:
            await self._fail(speech.error, speech)
        status = "failed" if speech.error else "cancelled" if speech.cancelled else "completed"
        await self._send("speech.audio.done", speech_id=speech.id, status=status)

    async def _audio(self, speech: _Speech) -> None:
        if speech.job is None or speech.error is not None:
            return
        wanted = speech.wanted
        body = await asyncio.to_thread(Audio, wanted.response_format, wanted.volume_multiplier, None)
        async with speech.job as job:
            await job.begin()
            async for chunk in job:
                await self._notices(speech, job)
                if wanted.words and chunk.words:
                    await self._send("speech.audio.words", speech_id=speech.id, words=words_of(chunk.words))
                await self._deltas(speech, await asyncio.to_thread(body.write, chunk))
            await self._notices(speech, job)
            if not speech.cancelled:
                await self._deltas(speech, await asyncio.to_thread(body.close))

    async def _notices(self, speech: _Speech, job: SpeechJob) -> None:
        for notice in job.take_notices():
            await self._send("speech.audio.notice", speech_id=speech.id, notice=notice)

    async def _deltas(self, speech: _Speech, data: bytes) -> None:
        for place in range(0, len(data), _BLOCK):
            if speech.cancelled:
                return
            audio = base64.b64encode(data[place : place + _BLOCK]).decode("ascii")
            await self._send("speech.audio.delta", speech_id=speech.id, audio=audio)

    async def _fail(self, error: Exception, speech: _Speech | None = None, event: Any = None) -> None:
        shown = error_of(error)
        if shown.status >= 500:
            _log.error("synthesis failed", exc_info=error)
        body = shown.body | ({"event_id": event} if isinstance(event, str) else {})
        await self._send("error", **({} if speech is None else {"speech_id": speech.id}), error=body)

    async def _send(self, kind: str, **fields: Any) -> None:
        event: Mapping[str, Any] = {"type": kind, **fields}
        try:
            await asyncio.wait_for(self._socket.send_text(json.dumps(event)), self._settings.patience)
        except (WebSocketDisconnect, RuntimeError, asyncio.TimeoutError) as error:  # noqa: UP041
            raise _GoneError from error
