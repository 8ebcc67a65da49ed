"""One client of the Wyoming server."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Mapping
from typing import Any

from kokoro_tvm.common.constants import SAMPLE_RATE
from kokoro_tvm.serving.budget import ByteBudget
from kokoro_tvm.serving.encoding.base import as_int16
from kokoro_tvm.serving.errors import ApiError, error_of
from kokoro_tvm.serving.fields import text
from kokoro_tvm.serving.requests import VOICE, SpeechRequest
from kokoro_tvm.serving.scheduler import Feed, SpeechJob
from kokoro_tvm.serving.service import Service
from kokoro_tvm.serving.wyoming.events import BLOCK, Event, encode, read_event
from kokoro_tvm.serving.wyoming.info import info, voice_for

__all__ = ["Connection"]

_FORMAT = {"rate": SAMPLE_RATE, "width": 2, "channels": 1}
_BLOCK = 4096  # samples of one event, 170 ms
_log = logging.getLogger("kokoro_tvm.serving")


class Connection:
    """Answers events in their order. What is spoken is cancelled when the client goes."""

    def __init__(
        self,
        service: Service,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        budget: ByteBudget,
    ) -> None:
        self._service = service
        self._budget = budget
        self._held = 0  # bytes of events that are not answered yet
        self._settings = service.settings
        self._reader = reader
        self._writer = writer
        self._writing = asyncio.Lock()
        self._model = ""
        self._job: SpeechJob | None = None
        self._text: _Text | None = None
        self._speech: asyncio.Task[None] | None = None
        self._ahead = asyncio.create_task(self._read())

    async def run(self) -> None:
        """Serve the client until it goes. An error is an event, after which the connection is closed."""
        failed = False
        try:
            while (event := await self._next()) is not None:
                await self._answer(event)
                self._hold(-event.size)
        except ConnectionError:
            pass  # the client is gone
        except asyncio.TimeoutError:  # noqa: UP041 - in Python 3.10 it is another
            self._writer.transport.abort()  # the client does not read what is sent
        except Exception as error:
            failed = True
            await self._fail(error)
        finally:
            self._cancel()
            tasks = [self._ahead, *([] if self._speech is None else [self._speech])]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)  # both may have ended as the client went
            if failed:
                await self._discard()
            self._budget.forget(self)
            self._writer.close()

    def drop(self) -> None:
        """Close the connection: it holds too many bytes."""
        self._writer.transport.abort()

    def _hold(self, size: int) -> None:
        """Hold so many bytes more."""
        self._held += size
        self._budget.hold(self, self._held)

    async def _read(self) -> Event | None:
        """The next event, also while something is spoken, which ends with the connection."""
        event = None
        try:
            event = await read_event(self._reader, self._settings.most_bytes, self._hold)
        except ConnectionError:
            pass
        finally:
            if event is None:
                self._cancel()
        return event

    async def _next(self) -> Event | None:
        """The next event; raises what a text that is not complete yet failed with."""
        awaited: list[asyncio.Task[Any]] = [self._ahead, *([] if self._speech is None else [self._speech])]
        done, _ = await asyncio.wait(
            awaited, timeout=self._settings.silence, return_when=asyncio.FIRST_COMPLETED
        )
        if self._speech in done:
            self._speech.result()
        if self._ahead not in done:
            raise ApiError(408, f"Nothing came for {self._settings.silence:g} s.", code="timeout")
        event = self._ahead.result()
        self._ahead = asyncio.create_task(self._read())  # one, however many the client sends
        return event

    async def _answer(self, event: Event) -> None:
        if event.type == "describe":
            bundles = self._service.bundles
            await self._send(Event("info", info({name: bundles.of(name) for name in bundles.names})))
        elif event.type == "ping":
            await self._send(Event("pong", {"text": event.data.get("text")}))
        elif event.type == "select-program":
            self._model = str(event.data.get("name", ""))
        elif event.type == "synthesize-start":
            await self._start(event)
        elif event.type == "synthesize-chunk" and self._text is not None:
            self._text.put(self._string(event.data, "text"))
        elif event.type == "synthesize-stop":
            await self._stop()
        elif event.type == "synthesize" and self._text is None:
            text = _Text(self._settings.most_characters)
            text.put(self._string(event.data, "text"))
            text.feed.end()
            await self._speak(self._submit(event, text.feed))
        # Other events are for other services. A `synthesize` between start and stop is the whole text once
        # more, which Home Assistant sends for servers that do not stream.

    async def _start(self, event: Event) -> None:
        if self._text is not None:
            raise ApiError(
                400, "synthesize-start came twice; synthesize-stop ends a text.", code="invalid_event"
            )
        self._text = _Text(self._settings.most_characters)
        self._speech = asyncio.create_task(self._speak(self._submit(event, self._text.feed)))

    async def _stop(self) -> None:
        if self._text is None or self._speech is None:
            raise ApiError(400, "synthesize-stop came without synthesize-start.", code="invalid_event")
        self._text.feed.end()
        await self._speech
        self._text = self._speech = None
        await self._send(Event("synthesize-stopped"))

    def _submit(self, event: Event, feed: Feed) -> SpeechJob:
        kind = _text_format(event)
        wanted = SpeechRequest(
            input="",
            model=self._model,
            voice=self._voice(event),
            ssml=True if kind == "ssml" else None,
            markup=kind != "text",
        )
        self._job = self._service.speak(wanted, None, feed)
        return self._job

    def _voice(self, event: Event) -> str | None:
        wanted: Any = event.data.get("voice") or {}
        if not isinstance(wanted, dict):
            raise ApiError(400, "`voice` should be an object.", "voice", "invalid_type")
        name, language = wanted.get("name"), wanted.get("language")
        if name is not None:
            return str(VOICE.read(name, "name"))
        if language is None:
            return None
        tts = self._service.bundles.of(self._model)
        found = voice_for(str(language)[:32], tts.voices.names, tts.bundle.languages)
        if found is None:
            raise ApiError(400, f"There is no voice of the language {str(language)[:32]!r}.", "voice")
        return found

    def _string(self, data: Mapping[str, Any], name: str) -> str:
        value: str = text(self._settings.most_characters).read(data.get(name), name)
        return value

    async def _speak(self, job: SpeechJob) -> None:
        async with job:
            await job.begin()
            await self._send(Event("audio-start", _FORMAT | {"timestamp": 0}))
            sent = 0
            async for chunk in job:
                for place in range(0, chunk.audio.size, _BLOCK):
                    block = chunk.audio[place : place + _BLOCK]
                    data = _FORMAT | {"timestamp": 1000 * sent // SAMPLE_RATE}
                    await self._send(Event("audio-chunk", data, as_int16(block)))
                    sent += block.size
            if job.cancelled:
                raise ConnectionResetError
        # Clients pass over what they do not know of an event, but not every client an event of another type.
        notices = {"notices": job.notices} if job.notices else {}
        await self._send(Event("audio-stop", {"timestamp": 1000 * sent // SAMPLE_RATE} | notices))

    async def _send(self, event: Event) -> None:
        async with self._writing:
            self._writer.write(encode(event))
            await asyncio.wait_for(self._writer.drain(), self._settings.patience)

    async def _fail(self, error: Exception) -> None:
        shown = error_of(error)
        if shown.status >= 500:
            _log.error("wyoming failed", exc_info=error)
        try:
            await self._send(Event("error", {"text": shown.message, "code": shown.code}))
        except (ConnectionError, asyncio.TimeoutError):  # noqa: UP041
            return

    async def _discard(self) -> None:
        """Throw away what the client still sends: closing a socket with unread bytes loses the error."""

        async def discard() -> None:
            while await self._reader.read(BLOCK):
                pass

        with contextlib.suppress(ConnectionError, asyncio.TimeoutError):
            self._writer.write_eof()
            await asyncio.wait_for(discard(), self._settings.idle)

    def _cancel(self) -> None:
        if self._job is not None:
            self._job.cancel()


class _Text:
    """A text that comes in chunks, of bounded length."""

    def __init__(self, most: int) -> None:
        """most: characters."""
        self.feed = Feed()
        self._most = most
        self._length = 0

    def put(self, chunk: str) -> None:
        self._length += len(chunk)
        if self._length > self._most:
            raise ApiError(400, f"The text is longer than {self._most} characters.", "text")
        self.feed.put(chunk)


def _text_format(event: Event) -> str | None:
    """ "ssml"; "text" for one without markup; None leaves it to the text."""
    kind: str | None = event.data.get("text_format")
    if kind not in (None, "text", "ssml"):
        raise ApiError(400, "`text_format` should be text or ssml.", "text_format", "invalid_value")
    return kind
