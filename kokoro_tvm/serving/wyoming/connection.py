"""Connection of one client of the Wyoming server."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from typing import Annotated, Any

from pydantic import Field, TypeAdapter, ValidationError

from kokoro_tvm.common.constants import SAMPLE_RATE
from kokoro_tvm.serving.budget import ByteBudget
from kokoro_tvm.serving.encoding.base import as_int16
from kokoro_tvm.serving.errors import ApiError, describe_error, describe_invalid_field
from kokoro_tvm.serving.feed import Feed
from kokoro_tvm.serving.jobs import SpeechJob
from kokoro_tvm.serving.requests import SpeechRequest, VoiceName
from kokoro_tvm.serving.service import Service
from kokoro_tvm.serving.wyoming.events import BLOCK, Event, encode, read_event
from kokoro_tvm.serving.wyoming.info import describe_programs, find_voice

_FORMAT = {"rate": SAMPLE_RATE, "width": 2, "channels": 1}
_BLOCK_SAMPLES = 4096  # of one event, 170 ms
_STRING: TypeAdapter[str] = TypeAdapter(Annotated[str, Field(min_length=0)])
_VOICE: TypeAdapter[str] = TypeAdapter(VoiceName)
_log = logging.getLogger("kokoro_tvm.serving")


class Connection:
    """Answers the events of a client in order. Its speech is cancelled when it leaves."""

    def __init__(
        self,
        service: Service,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        budget: ByteBudget,
    ) -> None:
        self._service = service
        self._settings = service.settings
        self._reader = reader
        self._writer = writer
        self._budget = budget
        self._held_bytes = 0
        self._hold(2 * min(BLOCK, service.settings.max_body_bytes))  # which asyncio may buffer
        self._writing = asyncio.Lock()
        self._model = ""
        self._job: SpeechJob | None = None
        self._text: _Text | None = None
        self._speech: asyncio.Task[None] | None = None
        self._next_event = asyncio.create_task(self._read())

    async def run(self) -> None:
        """Serve the client until it leaves. After an error, which is an event, the connection is closed."""
        has_failed = False
        try:
            while (event := await self._wait_for_event()) is not None:
                await self._handle(event)
                self._hold(-event.size)
        except ConnectionError:
            pass  # the client has left
        except asyncio.TimeoutError:  # noqa: UP041 - in Python 3.10 it is another
            self._writer.transport.abort()  # the client does not read what is sent
        except Exception as error:
            has_failed = True
            await self._send_error(error)
        finally:
            self._cancel()
            tasks = [self._next_event, *([] if self._speech is None else [self._speech])]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)  # both may have ended as the client left
            if has_failed:
                await self._discard_input()
            self._budget.release(self)
            self._writer.close()

    def drop(self) -> None:
        """Close the connection: it holds too many bytes."""
        self._writer.transport.abort()

    def _hold(self, size: int) -> None:
        """Count bytes that are held for the client."""
        self._held_bytes += size
        self._budget.hold(self, self._held_bytes)

    async def _read(self) -> Event | None:
        """Read the next event; at the end of the connection cancel the speech and return None."""
        event = None
        try:
            event = await read_event(self._reader, self._settings.max_body_bytes, self._hold)
        except ConnectionError:
            pass
        finally:
            if event is None:
                self._cancel()
        return event

    async def _wait_for_event(self) -> Event | None:
        """Return the next event, None at the end of the connection, and begin to read another one.

        Raises the error of a speech whose text is not complete, and ApiError after `idle_timeout_s`.
        """
        tasks: list[asyncio.Task[Any]] = [
            self._next_event,
            *([] if self._speech is None else [self._speech]),
        ]
        timeout_s = self._settings.idle_timeout_s
        done, _ = await asyncio.wait(tasks, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
        if self._speech in done:
            self._speech.result()
        if self._next_event not in done:
            raise ApiError(408, f"Nothing came for {timeout_s:g} s.", code="timeout")
        event = self._next_event.result()
        # One event is read ahead, to notice that the client leaves.
        self._next_event = asyncio.create_task(self._read())
        return event

    async def _handle(self, event: Event) -> None:
        """Answer an event or keep what it sets; ignore unknown ones. Raises ApiError for an invalid one."""
        if event.type == "describe":
            bundles = self._service.bundles
            programs = describe_programs({name: bundles.of(name) for name in bundles.names})
            await self._send(Event("info", programs))
        elif event.type == "ping":
            await self._send(Event("pong", {"text": event.data.get("text")}))
        elif event.type == "select-program":
            self._model = str(event.data.get("name", ""))
        elif event.type == "synthesize-start":
            await self._start(event)
        elif event.type == "synthesize-chunk" and self._text is not None:
            self._text.put(_read_text(event))
        elif event.type == "synthesize-stop":
            await self._stop()
        elif event.type == "synthesize" and self._text is None:
            text = _Text(self._settings.max_characters)
            text.put(_read_text(event))
            text.feed.end()
            await self._speak(self._submit(event, text.feed))
        # Other events are for other services. A `synthesize` between start and stop repeats the whole text,
        # which Home Assistant sends for servers that do not stream.

    async def _start(self, event: Event) -> None:
        """Begin the speech of a text that comes in chunks. Raises ApiError if one is open."""
        if self._text is not None:
            raise ApiError(
                400, "synthesize-start came twice; synthesize-stop ends a text.", code="invalid_event"
            )
        self._text = _Text(self._settings.max_characters)
        self._speech = asyncio.create_task(self._speak(self._submit(event, self._text.feed)))

    async def _stop(self) -> None:
        """End the text, and wait for the end of its speech. Raises ApiError if none is open."""
        if self._text is None or self._speech is None:
            raise ApiError(400, "synthesize-stop came without synthesize-start.", code="invalid_event")
        self._text.feed.end()
        await self._speech
        self._text = self._speech = None
        await self._send(Event("synthesize-stopped"))

    def _submit(self, event: Event, feed: Feed) -> SpeechJob:
        """Start the job of an event's speech. Raises ApiError or BusyError."""
        format = event.data.get("text_format")
        if format not in (None, "text", "ssml"):
            raise ApiError(400, "`text_format` should be text or ssml.", "text_format", "invalid_value")
        request = SpeechRequest.model_construct(
            input="",
            model=self._model,
            voice=self._choose_voice(event),
            ssml=True if format == "ssml" else None,
            markup=format != "text",
        )
        self._job = self._service.speak(request, None, feed)
        return self._job

    def _choose_voice(self, event: Event) -> str | None:
        """Return the voice of an event, by name or language; None for the default.

        Raises ApiError if there is none.
        """
        voice: Any = event.data.get("voice") or {}
        if not isinstance(voice, dict):
            raise ApiError(400, "`voice` should be an object.", "voice", "invalid_type")
        name, language = voice.get("name"), voice.get("language")
        if name is not None:
            return _validate(_VOICE, name, "name")
        if language is None:
            return None
        language = str(language)[:32]
        tts = self._service.bundles.of(self._model)
        match = find_voice(language, tts.voices.names, tts.bundle.languages)
        if match is None:
            raise ApiError(400, f"There is no voice of the language {language!r}.", "voice")
        return match

    async def _speak(self, job: SpeechJob) -> None:
        """Send a speech in blocks as it is spoken. Raises ConnectionResetError if it is cancelled."""
        async with job:
            await job.begin()
            await self._send(Event("audio-start", _FORMAT | {"timestamp": 0}))
            sent = 0  # samples
            async for chunk in job:
                for start in range(0, chunk.audio.size, _BLOCK_SAMPLES):
                    block = chunk.audio[start : start + _BLOCK_SAMPLES]
                    data = _FORMAT | {"timestamp": 1000 * sent // SAMPLE_RATE}
                    await self._send(Event("audio-chunk", data, as_int16(block)))
                    sent += block.size
            if job.cancelled:
                raise ConnectionResetError
        # Every client ignores unknown fields of an event, but not every client an event of another type.
        notices = {"notices": job.notices} if job.notices else {}
        await self._send(Event("audio-stop", {"timestamp": 1000 * sent // SAMPLE_RATE} | notices))

    async def _send(self, event: Event) -> None:
        """Send an event. Raises TimeoutError if the client reads too slowly."""
        async with self._writing:
            self._writer.write(encode(event))
            await asyncio.wait_for(self._writer.drain(), self._settings.write_timeout_s)

    async def _send_error(self, error: Exception) -> None:
        """Send an error to a client that still reads, and log it if it is the server's."""
        response = describe_error(error)
        if response.status_code >= 500:
            _log.error("wyoming failed", exc_info=error)
        with contextlib.suppress(ConnectionError, asyncio.TimeoutError):
            await self._send(Event("error", {"text": response.detail, "code": response.code}))

    async def _discard_input(self) -> None:
        """Read what the client still sends: closing a socket with unread bytes loses the error."""

        async def discard() -> None:
            while await self._reader.read(BLOCK):
                pass

        with contextlib.suppress(ConnectionError, asyncio.TimeoutError):
            self._writer.write_eof()
            await asyncio.wait_for(discard(), self._settings.request_timeout_s)

    def _cancel(self) -> None:
        """Cancel the speech."""
        if self._job is not None:
            self._job.cancel()


class _Text:
    """Text that arrives in chunks, of bounded length."""

    def __init__(self, max_characters: int) -> None:
        self.feed = Feed()
        self._max_characters = max_characters
        self._length = 0

    def put(self, chunk: str) -> None:
        """Append a chunk. Raises ApiError if the text becomes too long."""
        self._length += len(chunk)
        if self._length > self._max_characters:
            raise ApiError(400, f"The text is longer than {self._max_characters} characters.", "text")
        self.feed.put(chunk)


def _read_text(event: Event) -> str:
    """Return the text of an event. Raises ApiError if it is missing or of another type."""
    return _validate(_STRING, event.data.get("text"), "text")


def _validate(adapter: TypeAdapter[str], value: Any, field: str) -> str:
    """Return a valid value. Raises ApiError for an invalid one."""
    try:
        return adapter.validate_python(value, strict=True)
    except ValidationError as error:
        raise describe_invalid_field(error.errors(), field) from None
