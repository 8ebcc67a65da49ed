"""What all routes share: bundles, the scheduler, settings; and how a request becomes a job."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from starlette.requests import HTTPConnection

from kokoro_tvm.common.errors import KokoroTvmError
from kokoro_tvm.runtime.speech.stream import Stream
from kokoro_tvm.serving.bundles import Bundles
from kokoro_tvm.serving.downloads import Download, Downloads
from kokoro_tvm.serving.metrics import Metrics
from kokoro_tvm.serving.names import letter_of, with_own_names
from kokoro_tvm.serving.pieces.cache import PieceCache
from kokoro_tvm.serving.requests import PhonemesRequest, SpeechRequest
from kokoro_tvm.serving.scheduler import Scheduler, SpeechJob, read_in_turns
from kokoro_tvm.serving.settings import Settings

__all__ = ["Service"]

_log = logging.getLogger("kokoro_tvm.serving")
_MEASURED = "wav"  # begins with its length: all of a speech is planned before its first sound


@dataclass
class Service:
    """One server."""

    settings: Settings
    bundles: Bundles
    scheduler: Scheduler
    metrics: Metrics
    downloads: Downloads
    pieces: PieceCache | None = None
    opened: Literal["starting", "opened", "failed"] = "starting"
    """What became of the front ends, which are opened while the port answers already."""

    @property
    def status(self) -> Literal["ready", "starting", "failed", "busy"]:
        """Whether a text would be spoken at once, or why not. Requests that come too early only wait."""
        if self.opened != "opened":
            return self.opened
        return "busy" if self.scheduler.full else "ready"

    async def open_front_ends(self) -> None:
        """Open what reads texts, beside the event loop; what fails is logged, and no text can be spoken."""
        started = time.monotonic()
        try:
            await asyncio.to_thread(self.bundles.open_front_ends)
        except KokoroTvmError as error:
            self.opened = "failed"
            _log.error("front ends not opened", extra={"error": str(error)})
        else:
            self.opened = "opened"
            _log.info("ready", extra={"seconds": round(time.monotonic() - started, 3)})

    def speak(
        self, wanted: SpeechRequest, client: HTTPConnection | None, text: Iterable[str] | None = None
    ) -> SpeechJob:
        """The job of a request for the speech of a text.

        client: whose priority it has; text: one that comes in portions, in the place of `wanted.input`.
        Raises BusyError, and ApiError for a language that the bundle does not speak.
        """
        tts = self.bundles.of(wanted.model)
        code = wanted.lang_code and letter_of(wanted.lang_code, tts.bundle.languages, "lang_code")
        if self.settings.log_texts and text is None:
            _log.info("text", extra={"text": wanted.input, "voice": wanted.voice})

        def stream() -> Stream:
            voice = with_own_names(wanted.voice, tts.voices)
            return tts.stream(
                read_in_turns(wanted.input) if text is None else text,
                voice,
                wanted.speed,
                wanted.seed,
                ssml=wanted.ssml,
                markup=wanted.markup,
                language=code,
                unread=() if wanted.normalization_options is None else wanted.normalization_options.unread,
            )

        measured = text is None and _MEASURED in (wanted.response_format, wanted.download_format)
        return self._submit(stream, client, measured)

    def speak_phonemes(self, wanted: PhonemesRequest, client: HTTPConnection) -> SpeechJob:
        """The job of a request for the speech of phonemes. Raises BusyError."""
        tts = self.bundles.of(wanted.model)
        lines: Sequence[str] = [line for line in wanted.phonemes.splitlines() if line.strip()]

        def stream() -> Stream:
            voice = with_own_names(wanted.voice, tts.voices)
            return tts.stream_phonemes(lines, voice, wanted.speed, wanted.seed)

        return self._submit(stream, client, wanted.response_format == _MEASURED)

    async def download(self, wanted: SpeechRequest) -> Download | None:
        """The file that keeps the audio of a request, where it asks for one and the disk has room."""
        if not wanted.return_download_link:
            return None
        try:
            return await asyncio.to_thread(
                self.downloads.create, wanted.download_format or wanted.response_format
            )
        except OSError as error:
            _log.warning("download not kept", extra={"error": str(error)})
            return None

    def _submit(
        self, stream: Callable[[], Stream], client: HTTPConnection | None, measured: bool
    ) -> SpeechJob:
        def kept() -> Stream:
            made = stream()
            if self.pieces is not None:
                made.renderer = self.pieces.around(made.renderer)
            return made

        return self.scheduler.submit(kept, 0 if client is None else client.state.priority, measured)

    async def reload(self) -> None:
        """Open all bundles again; where one cannot be opened, those that are open stay."""
        try:
            await asyncio.to_thread(self.bundles.reload)
        except KokoroTvmError as error:
            _log.error("bundles not reloaded", extra={"error": str(error)})
        except Exception as error:  # whoever sent the signal reads the log alone
            _log.error("bundles not reloaded", extra={"error": str(error)}, exc_info=error)
        else:
            self.opened = "opened"
            _log.info("bundles reloaded", extra={"bundles": list(self.bundles.names)})
