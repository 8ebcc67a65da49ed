"""State that all routes share, and the conversion of requests into jobs."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from fastapi import Depends
from starlette.requests import HTTPConnection

from kokoro_tvm.common.errors import KokoroTvmError
from kokoro_tvm.runtime.speech.stream import Stream
from kokoro_tvm.serving.bundles import Bundles
from kokoro_tvm.serving.downloads import Download, Downloads
from kokoro_tvm.serving.feed import read_in_turns
from kokoro_tvm.serving.jobs import SpeechJob
from kokoro_tvm.serving.metrics import Metrics
from kokoro_tvm.serving.names import letter_of
from kokoro_tvm.serving.pieces.cache import PieceCache
from kokoro_tvm.serving.requests import PhonemesRequest, SpeechRequest
from kokoro_tvm.serving.scheduler import Scheduler
from kokoro_tvm.serving.settings import Settings

_log = logging.getLogger("kokoro_tvm.serving")
_MEASURED_FORMAT = "wav"  # begins with its length: all of a speech is planned before its first audio


@dataclass
class Service:
    """State of one server.

    Attributes:
        front_ends: State of the front ends, which are opened while the port answers already.
        sessions: Number of open WebSocket sessions.
    """

    settings: Settings
    bundles: Bundles
    scheduler: Scheduler
    metrics: Metrics
    downloads: Downloads
    cache: PieceCache | None = None
    front_ends: Literal["starting", "ready", "failed"] = "starting"
    sessions: int = 0

    @property
    def status(self) -> Literal["ready", "starting", "failed", "busy"]:
        """Whether a text is spoken at once, or why not. A request that comes too early only waits."""
        if self.front_ends != "ready":
            return self.front_ends
        return "busy" if self.scheduler.is_full else "ready"

    async def open_front_ends(self) -> None:
        """Open what reads texts in another thread. A failure is logged, and no text can be spoken."""
        started = time.monotonic()
        try:
            await asyncio.to_thread(self.bundles.open_front_ends)
        except KokoroTvmError as error:
            self.front_ends = "failed"
            _log.error("front ends not opened", extra={"error": str(error)})
        else:
            self.front_ends = "ready"
            _log.info("ready", extra={"seconds": round(time.monotonic() - started, 3)})

    def speak(
        self, request: SpeechRequest, client: HTTPConnection | None, text: Iterable[str] | None = None
    ) -> SpeechJob:
        """Start the job of a request for the speech of a text.

        Args:
            request: The request.
            client: Its connection, which has its priority.
            text: Portions of a text that replaces `request.input`.

        Raises:
            BusyError: The queue is full.
            ApiError: The bundle does not speak the language.
        """
        tts = self.bundles.of(request.model)
        code = request.language and letter_of(request.language, tts.bundle.languages)
        if self.settings.log_texts and text is None:
            _log.info("text", extra={"text": request.input, "voice": request.voice})
        options = request.normalization_options

        def open_stream() -> Stream:
            return tts.stream(
                read_in_turns(request.input) if text is None else text,
                tts.voices.resolve(request.voice),
                request.speed,
                request.seed,
                ssml=request.ssml,
                markup=request.markup,
                omit=request.omit,
                language=code,
                unread=() if options is None else options.unread,
                lexicon=request.lexicon,
            )

        is_measured = text is None and _MEASURED_FORMAT in (request.response_format, request.download_format)
        return self._submit_cached(open_stream, client, is_measured)

    def speak_phonemes(self, request: PhonemesRequest, client: HTTPConnection) -> SpeechJob:
        """Start the job of a request for the speech of phonemes. Raises BusyError if the queue is full."""
        tts = self.bundles.of(request.model)
        lines: Sequence[str] = [line for line in request.phonemes.splitlines() if line.strip()]

        def open_stream() -> Stream:
            voice = tts.voices.resolve(request.voice)
            return tts.stream_phonemes(lines, voice, request.speed, request.seed)

        return self._submit_cached(open_stream, client, request.response_format == _MEASURED_FORMAT)

    async def create_download(self, request: SpeechRequest) -> Download | None:
        """Create the file that keeps the audio of a request; None if it wants none or the disk fails."""
        if not request.return_download_link:
            return None
        try:
            return await asyncio.to_thread(
                self.downloads.create, request.download_format or request.response_format
            )
        except OSError as error:
            _log.warning("download not kept", extra={"error": str(error)})
            return None

    async def reload(self) -> None:
        """Open all bundles again. If one cannot be opened, the server keeps those that are open."""
        try:
            await asyncio.to_thread(self.bundles.reload)
        except KokoroTvmError as error:
            _log.error("bundles not reloaded", extra={"error": str(error)})
        except Exception as error:  # the sender of the signal reads nothing but the log
            _log.error("bundles not reloaded", extra={"error": str(error)}, exc_info=error)
        else:
            self.front_ends = "ready"
            _log.info("bundles reloaded", extra={"bundles": list(self.bundles.names)})

    def _submit_cached(
        self, open_stream: Callable[[], Stream], client: HTTPConnection | None, is_measured: bool
    ) -> SpeechJob:
        """Start a job whose pieces are read from the cache if there is one.

        Raises BusyError if the queue is full.
        """

        def open_cached() -> Stream:
            """Open the stream, with the cache around its renderer."""
            stream = open_stream()
            if self.cache is not None:
                stream.renderer = self.cache.around(stream.renderer)
            return stream

        return self.scheduler.submit(open_cached, 0 if client is None else client.state.priority, is_measured)


# Not a plain function, which FastAPI would run in another thread.
async def _current_service(connection: HTTPConnection) -> Service:
    service: Service = connection.app.state.service
    return service


CurrentService = Annotated[Service, Depends(_current_service)]
"""Parameter of a route: the service of its server."""
