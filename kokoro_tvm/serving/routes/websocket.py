"""WebSocket on which a text arrives in pieces, as a language model writes it, and is spoken meanwhile.

The names of the events are those of OpenAI's interfaces, and of Mistral's for text in pieces; docs/serving.md
lists them. Each speech ends with one `speech.audio.done`, whatever its outcome.
"""

from __future__ import annotations

import asyncio
import base64
import json
import logging
from dataclasses import dataclass
from typing import Any, TypeVar

from fastapi import APIRouter, WebSocket, WebSocketDisconnect
from pydantic import ValidationError

from kokoro_tvm.serving.bodies import AudioBody, describe_words
from kokoro_tvm.serving.errors import ApiError, describe_error, describe_invalid_field
from kokoro_tvm.serving.feed import Feed
from kokoro_tvm.serving.jobs import SpeechJob
from kokoro_tvm.serving.json_input import read_json
from kokoro_tvm.serving.requests import RequestModel, SessionRequest, Text
from kokoro_tvm.serving.scheduler import BusyError
from kokoro_tvm.serving.service import CurrentService, Service

__all__ = ["router"]

M = TypeVar("M", bound=RequestModel)

router = APIRouter()

_BLOCK_BYTES = 24_000  # of audio in one event, half a second of PCM: common clients take 1 MiB
_log = logging.getLogger("kokoro_tvm.serving")


@router.websocket("/v1/audio/speech/stream")
async def stream(socket: WebSocket, service: CurrentService) -> None:
    limit = service.settings.max_sessions
    if service.sessions >= limit:
        message = f"{limit} sessions are open, which is the most."
        await socket.send_denial_response(ApiError(429, message, code="rate_limit_exceeded").response())
        return
    service.sessions += 1
    try:
        await socket.accept()
        await _Session(service, socket).run()
    finally:
        service.sessions -= 1


class _AppendEvent(RequestModel):
    text: Text


@dataclass
class _Speech:
    """One text and its speech; `job` is None if the queue had no place for it."""

    id: str
    request: SessionRequest
    feed: Feed
    job: SpeechJob | None = None
    error: Exception | None = None
    length: int = 0
    is_cancelled: bool = False

    @property
    def has_ended(self) -> bool:
        """Whether no more of its text is spoken."""
        return self.is_cancelled or self.error is not None

    def cancel(self, error: Exception | None = None) -> None:
        """End it; `error` is the reason if the client did not ask for it."""
        self.is_cancelled = True
        self.error = self.error or error
        self.feed.clear()
        if self.job is not None:
            self.job.cancel()


class _DisconnectedError(Exception):
    """The client left, or does not read what is sent."""


class _Session:
    """Reads events and sends speech until the client leaves or has received everything."""

    def __init__(self, service: Service, socket: WebSocket) -> None:
        self._service = service
        self._settings = service.settings
        self._socket = socket
        self._request = SessionRequest()
        self._open: _Speech | None = None  # the speech whose text is not complete
        self._speeches: list[_Speech] = []  # that are not done, in order
        self._queue: asyncio.Queue[_Speech | None] = asyncio.Queue()
        self._count = 0
        self._has_ended = False

    async def run(self) -> None:
        """Serve an accepted socket, and close it."""
        tasks = [asyncio.create_task(self._read()), asyncio.create_task(self._speak())]
        try:
            await self._send("session.created", session=self._request.model_dump())
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
            await self._socket.close()
        except (_DisconnectedError, WebSocketDisconnect, RuntimeError):  # RuntimeError: closed already
            return
        finally:
            for task in tasks:
                task.cancel()
            self._cancel()
            await asyncio.gather(*tasks, return_exceptions=True)  # both may have ended as the client left

    async def _read(self) -> None:
        """Handle events until the client leaves. An invalid event is answered, and the session goes on.

        Raises _DisconnectedError if the client does not read.
        """
        timeout_s = self._settings.idle_timeout_s
        while True:
            try:
                message = await asyncio.wait_for(self._socket.receive(), timeout_s)
            except asyncio.TimeoutError:  # noqa: UP041
                if self._speeches and self._open is None:
                    continue
                await self._send_error(ApiError(408, f"Nothing came for {timeout_s:g} s.", code="timeout"))
                return
            if message["type"] == "websocket.disconnect":
                raise _DisconnectedError
            node: Any = None
            try:
                data = (message.get("text") or "").encode("utf-8", "replace")
                node = await read_json(data, "The event")
                await self._handle(node)
            except ApiError as error:
                await self._send_error(error, event=node.get("event_id") if isinstance(node, dict) else None)

    async def _handle(self, node: Any) -> None:
        """Handle an event of the client. Raises ApiError for an invalid one."""
        kind = node.get("type") if isinstance(node, dict) else None
        if kind == "session.update":
            changes = node.get("session")
            session = self._request.model_dump() | changes if isinstance(changes, dict) else changes
            self._request = _validate(SessionRequest, session, "session")
            await self._send("session.updated", session=self._request.model_dump())
        elif kind == "input_text.append":
            await self._append(_validate(_AppendEvent, node).text)
        elif kind in ("input_text.flush", "input_text.end"):
            self._flush()
            if kind == "input_text.end" and not self._has_ended:
                self._has_ended = True
                self._queue.put_nowait(None)
        elif kind == "speech.cancel":
            self._cancel()
        else:
            events = "session.update, input_text.append, input_text.flush, input_text.end and speech.cancel"
            raise ApiError(400, f"An event has one of the types {events}.", "type", "invalid_value")

    async def _append(self, piece: str) -> None:
        """Append to the open speech, or begin one. Raises ApiError after the end of the input."""
        if self._has_ended:
            raise ApiError(400, "input_text.append came after input_text.end.", "type", "invalid_value")
        if not piece:
            return
        if self._open is None:
            self._open = await self._begin()
        if self._open.has_ended:
            return  # the rest of its text is not kept
        self._open.length += len(piece)
        limit = self._settings.max_characters
        if self._open.length > limit:
            message = f"The text is longer than {limit} characters. Flush it before."
            self._open.cancel(ApiError(400, message, "text", "string_above_max_length"))
        else:
            self._open.feed.put(piece)

    async def _begin(self) -> _Speech:
        """Queue a speech. One without a place fails at once: its error is sent, and nothing of it is kept."""
        self._count += 1
        speech = _Speech(f"speech_{self._count}", self._request, Feed())
        try:
            limit = self._settings.max_session_speeches
            if len(self._speeches) >= limit:
                message = f"{limit} speeches of this session are not done, which is the most."
                raise ApiError(429, message, code="rate_limit_exceeded")
            speech.job = self._service.speak(speech.request.to_speech(), self._socket, speech.feed)
        except (ApiError, BusyError) as error:
            speech.error = error
            await self._finish_speech(speech)
        else:
            self._speeches.append(speech)
            self._queue.put_nowait(speech)
        return speech

    def _flush(self) -> None:
        """End the text of the open speech."""
        if self._open is not None:
            self._open.feed.end()
            self._open = None

    def _cancel(self) -> None:
        """Cancel all speeches."""
        for speech in self._speeches:
            speech.cancel()
        self._open = None

    async def _speak(self) -> None:
        """Send speeches in order until the input has ended."""
        while (speech := await self._queue.get()) is not None:
            try:
                await self._send_speech(speech)
            except _DisconnectedError:
                raise
            except Exception as error:
                speech.error = speech.error or error
            self._speeches.remove(speech)
            await self._finish_speech(speech)

    async def _finish_speech(self, speech: _Speech) -> None:
        """Send the error of a speech, if any, and the event of its end."""
        speech.feed.clear()
        if speech.error is not None:
            await self._send_error(speech.error, speech)
        status = "failed" if speech.error else "cancelled" if speech.is_cancelled else "completed"
        await self._send("speech.audio.done", speech_id=speech.id, status=status)

    async def _send_speech(self, speech: _Speech) -> None:
        """Send notices, words and audio of a speech as it is spoken."""
        if speech.job is None or speech.error is not None:
            return
        request = speech.request
        body = await asyncio.to_thread(
            AudioBody, request.response_format, request.volume_multiplier, None, request.sample_rate
        )
        async with speech.job as job:
            await job.begin()
            async for chunk in job:
                await self._send_notices(speech, job)
                if request.words and chunk.words:
                    words = describe_words(chunk.words)
                    await self._send("speech.audio.words", speech_id=speech.id, words=words)
                await self._send_audio(speech, await asyncio.to_thread(body.write, chunk))
            await self._send_notices(speech, job)
            if not speech.is_cancelled:
                await self._send_audio(speech, await asyncio.to_thread(body.close))

    async def _send_notices(self, speech: _Speech, job: SpeechJob) -> None:
        """Send the notices since the last call."""
        for notice in job.take_notices():
            words = list(notice.words)
            await self._send("speech.audio.notice", speech_id=speech.id, notice=notice, words=words)

    async def _send_audio(self, speech: _Speech, data: bytes) -> None:
        """Send audio in blocks, until the speech is cancelled."""
        for start in range(0, len(data), _BLOCK_BYTES):
            if speech.is_cancelled:
                return
            audio = base64.b64encode(data[start : start + _BLOCK_BYTES]).decode("ascii")
            await self._send("speech.audio.delta", speech_id=speech.id, audio=audio)

    async def _send_error(self, error: Exception, speech: _Speech | None = None, event: Any = None) -> None:
        """Send an error, and log it if it is the server's."""
        response = describe_error(error)
        if response.status_code >= 500:
            _log.error("synthesis failed", exc_info=error)
        body = response.body | ({"event_id": event} if isinstance(event, str) else {})
        await self._send("error", **({} if speech is None else {"speech_id": speech.id}), error=body)

    async def _send(self, kind: str, **fields: Any) -> None:
        """Send an event. Raises _DisconnectedError if the client left or reads too slowly."""
        text = json.dumps({"type": kind, **fields})
        try:
            await asyncio.wait_for(self._socket.send_text(text), self._settings.write_timeout_s)
        except (WebSocketDisconnect, RuntimeError, asyncio.TimeoutError) as error:  # noqa: UP041
            raise _DisconnectedError from error


def _validate(model: type[M], node: Any, parent: str = "") -> M:
    """Validate an object of an event. Raises ApiError if it is invalid."""
    try:
        return model.model_validate(node)
    except ValidationError as error:
        raise describe_invalid_field(error.errors(), parent) from None
