"""Jobs of the scheduler: each computes speech on a thread of its own."""

from __future__ import annotations

import asyncio
import threading
import time
import traceback
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from kokoro_tvm.common.errors import InputError
from kokoro_tvm.common.words import truncate
from kokoro_tvm.runtime.notices import Notice, receiving
from kokoro_tvm.runtime.session.session import ComponentRunner
from kokoro_tvm.runtime.speech.stream import Chunk, Stream
from kokoro_tvm.runtime.stopping import CancelledError

if TYPE_CHECKING:
    from kokoro_tvm.serving.scheduler import Scheduler


T = TypeVar("T")

PORTION = 512
"""Characters of a text that are read in one turn."""
_MAX_NOTICES, _MAX_NOTICE_LENGTH, _MAX_NOTICE_WORDS = 50, 300, 100  # of a job; characters, words of each
_PORTION_DELAY_S = 1.0  # by which each further portion of a text without audio moves its job back
_thread = threading.local()


def current_job() -> SpeechJob | None:
    """Return the job of this thread, or None."""
    return getattr(_thread, "job", None)


def without_turn(wait: Callable[[], T]) -> T:
    """Return the result of a function that only waits; other jobs than this thread's compute meanwhile."""
    job = current_job()
    return wait() if job is None else job.without_turn(wait)


class SpeechJob(AbstractAsyncContextManager["SpeechJob"], AsyncIterator[Chunk]):
    """Request for speech: an asynchronous iterator of its chunks, and a context manager that cancels it.

    Iteration raises what the synthesis raises. At most `audio_buffer_s` seconds of audio wait to be read.

    Attributes:
        samples: Number of samples of all audio, if the job is measured and planned.
        first_audio_s: Seconds from its arrival to its first chunk.
        audio_s: Seconds of audio that are computed.
        pieces: Number of chunks that are computed.
        computing_s: Seconds of its turns.
    """

    def __init__(
        self,
        scheduler: Scheduler,
        open_stream: Callable[[], Stream],
        priority: int,
        is_measured: bool = False,
    ) -> None:
        self.arrived = time.monotonic()
        self.wake = threading.Condition(scheduler.lock)
        self.has_turn = False
        self.cancelled = False
        self.samples: int | None = None
        self.first_audio_s: float | None = None
        self.audio_s = 0.0
        self.pieces = 0
        self.granted = 0.0  # time of its last turn
        self.computing_s = 0.0
        self._scheduler = scheduler
        self._open_stream = open_stream
        self._is_measured = is_measured
        self._priority = priority
        self._stream: Stream | None = None
        self._chunks: deque[Chunk] = deque()
        self._buffered_s = 0.0  # seconds of audio in _chunks
        self._planned_samples = 0
        self._read_characters = 0
        self._deadline = self.arrived  # moved back while all of it is planned: a book holds up no sentence
        self._has_ended = False
        self._error: BaseException | None = None
        self._notices: list[Notice] = []
        self._taken_notices = 0
        self._loop = asyncio.get_running_loop()
        self._changed = asyncio.Event()
        self._thread = threading.Thread(target=self._run, name="kokoro-tvm-request", daemon=True)

    @property
    def notices(self) -> list[Notice]:
        """Notices so far, such as words that were left out."""
        return list(self._notices)

    def take_notices(self) -> list[Notice]:
        """Return the notices since the last call."""
        fresh = self._notices[self._taken_notices :]
        self._taken_notices += len(fresh)
        return fresh

    def start(self) -> None:
        """Start its thread."""
        self._thread.start()

    def join(self) -> None:
        """Wait until its thread has ended."""
        self._thread.join()

    @property
    def urgency(self) -> tuple[int, float]:
        """Sort key; the least goes first: by priority, then by the time at which its listener runs dry."""
        if self.first_audio_s is None:
            return -self._priority, self._deadline - self._scheduler.settings.first_audio_priority_s
        return -self._priority, self.arrived + self.first_audio_s + self.audio_s

    @property
    def outcome(self) -> str:
        """How it ended: spoken, cancelled, refused or failed."""
        if self._error is not None:
            return "refused" if isinstance(self._error, InputError) else "failed"
        return "cancelled" if self.cancelled else "spoken"

    def cancel(self) -> None:
        """End the work, the running component included; no more chunks come."""
        with self._scheduler.lock:
            self.cancelled = True
            self._chunks.clear()
            if self._stream is not None:
                self._stream.close()
            self.wake.notify_all()
        self._changed.set()

    async def begin(self) -> int | None:
        """Wait for the first chunk, and return the number of all samples if the job is measured.

        Raises an error that came before any audio: an error response can still be sent.
        """
        while not (self._chunks or self._has_ended or self.cancelled):
            self._changed.clear()
            if not (self._chunks or self._has_ended or self.cancelled):
                await self._changed.wait()
        if self._error is not None and not self.pieces:
            raise self._error
        return self.samples

    async def __anext__(self) -> Chunk:
        while not self.cancelled:
            with self._scheduler.lock:
                if self._chunks:
                    chunk = self._chunks.popleft()
                    self._buffered_s -= len(chunk.audio) / chunk.sample_rate
                    self.wake.notify_all()
                    return chunk
                if self._has_ended:
                    break
                self._changed.clear()
            await self._changed.wait()
        if self._error is not None:
            raise self._error
        raise StopAsyncIteration

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.cancel()

    def pause(self, until: Callable[[], bool]) -> None:
        """Wait without the turn, on the job's thread. Raises CancelledError if the job is cancelled."""
        with self._scheduler.lock:
            if until():
                return
            self._scheduler.release(self)
            self.wake.wait_for(lambda: until() or self.cancelled)
            self._scheduler.acquire(self)

    def without_turn(self, wait: Callable[[], T]) -> T:
        """Return the result of `wait`, on the job's thread, while others compute.

        Raises CancelledError if the job was cancelled.
        """
        self._scheduler.release(self)
        result = wait()
        self._scheduler.acquire(self)
        return result

    def yield_turn(self) -> None:
        """Let a more urgent job compute first. Raises CancelledError if this one is cancelled."""
        self._scheduler.yield_turn(self)

    def before_reading(self, length: int) -> None:
        """Yield the turn before so many characters of the text are read."""
        self.yield_turn()
        self._read_characters += length
        if self._read_characters > PORTION:
            self._deadline += _PORTION_DELAY_S * length / PORTION

    def _keep_notice(self, notice: str) -> None:
        """Keep a notice, shortened; drop repetitions, and those beyond the most."""
        words = [truncate(word, _MAX_NOTICE_LENGTH) for word in getattr(notice, "words", ())]
        notice = Notice(truncate(notice, _MAX_NOTICE_LENGTH), words[:_MAX_NOTICE_WORDS])
        if notice in self._notices or len(self._notices) > _MAX_NOTICES:
            return
        is_last = len(self._notices) == _MAX_NOTICES
        self._notices.append(Notice("There are more notices.") if is_last else notice)

    def _run(self) -> None:
        """Compute the job, on its thread."""
        _thread.job = self
        with receiving(self._keep_notice):
            self._compute()

    def _compute(self) -> None:
        """Wait for the turn and work; keep an error for the reader, and give the place back."""
        try:
            self._scheduler.acquire(self)
            self._work()
        except CancelledError:
            pass
        except BaseException as error:  # the reader raises it
            _clear_locals(error)
            self._error = error
        finally:
            with self._scheduler.lock:  # whoever reads the end finds the place free
                self._has_ended = True
                self._stream = None
                del self._open_stream  # which refers to the text, and the text to the job
                self._scheduler.remove(self)
                self._notify()

    def _work(self) -> None:
        """Compute all chunks, on the job's thread. Raises CancelledError if the job was cancelled."""
        stream = self._open_stream()
        with self._scheduler.lock:
            self._stream = stream
            if self.cancelled:
                raise CancelledError
        with stream:
            if self._is_measured:
                while self._plan(stream):
                    self._deadline = self.arrived + self._planned_samples / stream.plan.sample_rate
                self._deadline = time.monotonic()
                self.samples = self._planned_samples
            while self._is_measured or self._plan(stream):
                if (chunk := next(stream, None)) is None:
                    break
                self._deliver(chunk)

    def _plan(self, stream: Stream) -> bool:
        """Plan one piece, and return whether there is one. Raises InputError before too much is rendered."""
        piece = stream.plan_ahead()
        if piece is None:
            return False
        self._planned_samples += piece.samples(stream.plan.samples_per_frame)
        rate, settings = stream.plan.sample_rate, self._scheduler.settings
        if self._planned_samples > settings.max_speech_s * rate:
            raise InputError(
                f"The speech lasts longer than {settings.max_speech_s:g} s. Send the text in parts."
            )
        if piece.pause > settings.max_pause_s * rate:
            raise InputError(f"A pause lasts longer than {settings.max_pause_s:g} s. Shorten it.")
        return True

    def _deliver(self, chunk: Chunk) -> None:
        """Queue a chunk for the reader, then wait without the turn while `audio_buffer_s` or more is unread.

        Raises CancelledError if the job is cancelled.
        """
        seconds = len(chunk.audio) / chunk.sample_rate
        with self._scheduler.lock:
            if self.cancelled:
                raise CancelledError
            if self.first_audio_s is None:
                self.first_audio_s = time.monotonic() - self.arrived
            self.audio_s += seconds
            self.pieces += 1
            self._buffered_s += seconds
            self._chunks.append(chunk)
        self._notify()
        self.pause(until=lambda: self._buffered_s < self._scheduler.settings.audio_buffer_s)

    def _notify(self) -> None:
        """Wake the reader, which runs in the event loop."""
        self._loop.call_soon_threadsafe(self._changed.set)


class YieldingRunner:
    """Runner of components that yields the turn of the current job before each."""

    def __init__(self, runner: ComponentRunner) -> None:
        self._runner = runner

    def run(self, component: str, length: int, *inputs: Any) -> tuple[Any, ...]:
        """Run a component when the current job has its turn."""
        job = current_job()
        if job is not None:
            job.yield_turn()
        return self._runner.run(component, length, *inputs)


def _clear_locals(error: BaseException | None) -> None:
    """Drop the local variables of the frames that an error went through."""
    # They refer to the text and the job, and the job to the error: a cycle, which the collector finds late.
    while error is not None:
        traceback.clear_frames(error.__traceback__)
        error = error.__cause__ or error.__context__
