"""Which request computes next: a fair queue, component by component.

Every request has a thread, but only a thread that has a turn computes. It gives the turn up between two
components as soon as a more urgent request waits, and altogether while its reader is slow or its text has not
come. So a short request is heard while a long one is spoken, and no reader holds another up.
"""

from __future__ import annotations

import asyncio
import math
import threading
import time
import traceback
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import Any, TypeVar

from kokoro_tvm.common.errors import InputError, KokoroTvmError
from kokoro_tvm.common.words import truncate
from kokoro_tvm.runtime.notices import receiving
from kokoro_tvm.runtime.session.session import ComponentRunner
from kokoro_tvm.runtime.speech.stream import Chunk, Stream
from kokoro_tvm.runtime.stopping import CancelledError
from kokoro_tvm.serving.settings import Settings

__all__ = [
    "BusyError",
    "Computation",
    "Feed",
    "Scheduler",
    "SpeechJob",
    "Yielding",
    "read_in_turns",
    "without_turn",
]

T = TypeVar("T")

_PORTION = 512  # characters that are read in one go
_MOST_NOTICES, _LONGEST_NOTICE = 50, 1000  # of a job, and characters of each
_BEHIND = 1.0  # seconds, for each further portion, by which a text without a sound so far goes behind others
_current = threading.local()


def without_turn(wait: Callable[[], T]) -> T:
    """The result of something that computes nothing, while other requests than this thread's compute."""
    job: SpeechJob | None = getattr(_current, "job", None)
    return wait() if job is None else job.without_turn(wait)


def read_in_turns(text: str) -> Iterator[str]:
    """A text in portions, for `Synthesizer.stream` in a job: before each, who is more urgent goes first."""
    for portion in _portions(text):
        _current.job.before_reading(len(portion))
        yield portion


def _portions(text: str) -> Iterator[str]:
    return (text[place : place + _PORTION] for place in range(0, len(text), _PORTION))


def _clear_locals(error: BaseException | None) -> None:
    """Drop the local variables of the frames that an error went through.

    They hold the text and the job, and the job holds the error: a cycle, which the collector finds late.
    """
    while error is not None:
        traceback.clear_frames(error.__traceback__)
        error = error.__cause__ or error.__context__


class BusyError(KokoroTvmError):
    """As many requests wait as may; `retry_after` is the number of seconds after which another may come."""

    def __init__(self, most: int, retry_after: int) -> None:
        super().__init__(
            f"{most} requests are being spoken, which is the most. Try again in {retry_after} s."
        )
        self.retry_after = retry_after


class Scheduler:
    """Requests that compute in turns. One event loop submits and reads; `close` ends all of them."""

    def __init__(self, settings: Settings, ended: Callable[[SpeechJob], None] = lambda job: None) -> None:
        """ended: called with every job that has ended."""
        self.settings = settings
        self.lock = threading.RLock()
        self.jobs: set[SpeechJob] = set()
        self._waiting: list[SpeechJob] = []
        self._free = True  # one computes at a time: compiled code uses all cores by itself
        self._ended = ended
        self._lasted = 1.0  # seconds, of the requests that ended lately

    def submit(self, open: Callable[[], Stream], priority: int = 0, measured: bool = False) -> SpeechJob:
        """Start a request, from the thread of the running event loop.

        open: called where it may compute; gives the stream of chunks. priority: the greater goes first.
        measured: whether all of it is planned, and `begin` knows its samples, before the first sound.
        Raises BusyError where `most_requests` are there.
        """
        with self.lock:
            self.check_place()
            job = SpeechJob(self, open, priority, measured)
            self.jobs.add(job)
        job.start()
        return job

    def compute(self, function: Callable[[], Any], priority: int = 0) -> Computation:
        """Start a request for the result of a function, as `submit` does for a stream.

        function: reads its text by `read_in_turns`. Raises BusyError as `check_place` does.
        """
        with self.lock:
            self.check_place(computation=True)
            job = Computation(self, function, priority, measured=False)
            self.jobs.add(job)
        job.start()
        return job

    def check_place(self, computation: bool = False) -> None:
        """Raise BusyError if there is no place for another request.

        computation: whether the request is one for `compute`. These have half of the places at most: the
        others are for speech.
        """
        most = self.settings.most_requests
        with self.lock:
            count = len(self.jobs)
            if computation and count < most:
                most = max(1, most // 2)
                count = sum(isinstance(job, Computation) for job in self.jobs)
            if count >= most:
                raise BusyError(most, max(1, math.ceil(self._lasted)))

    @property
    def full(self) -> bool:
        """Whether as many requests are there as may be."""
        return len(self.jobs) >= self.settings.most_requests

    @property
    def waiting(self) -> int:
        """Requests that could compute if it were their turn."""
        return len(self._waiting)

    async def close(self) -> None:
        """Cancel all requests and wait until their threads have ended."""
        with self.lock:
            jobs = list(self.jobs)
        for job in jobs:
            job.cancel()
        for job in jobs:
            await asyncio.to_thread(job.join)

    def take(self, job: SpeechJob) -> None:
        """Wait for a turn; raises CancelledError where the job is cancelled meanwhile."""
        with self.lock:
            self._waiting.append(job)
            self._grant()
            job.wake.wait_for(lambda: job.has_turn or job.cancelled)
            if not job.has_turn:
                self._waiting.remove(job)
                raise CancelledError

    def give(self, job: SpeechJob) -> None:
        """Let another compute."""
        with self.lock:
            if job.has_turn:
                job.has_turn = False
                job.computing += time.monotonic() - job.granted
                self._free = True
                self._grant()

    def check(self, job: SpeechJob) -> None:
        """Let another compute first where it is more urgent; raises CancelledError as `take` does."""
        with self.lock:
            if job.cancelled:
                raise CancelledError
            if any(other.urgency < job.urgency for other in self._waiting):
                self.give(job)
                self.take(job)

    def forget(self, job: SpeechJob) -> None:
        """A job's thread ends."""
        with self.lock:
            self.give(job)
            self.jobs.discard(job)
            if not isinstance(job, Computation):
                self._ended(job)
            self._lasted += 0.2 * (time.monotonic() - job.arrived - self._lasted)

    def _grant(self) -> None:
        if self._free and self._waiting:
            job = min(self._waiting, key=lambda job: job.urgency)
            self._waiting.remove(job)
            self._free = False
            job.has_turn = True
            job.granted = time.monotonic()
            job.wake.notify_all()


class SpeechJob(AbstractAsyncContextManager["SpeechJob"], AsyncIterator[Chunk]):
    """One request: an asynchronous iterator of its chunks, and a context manager that cancels it.

    Iteration raises what the synthesis raises. At most `ahead` seconds of audio wait here.
    """

    def __init__(
        self, scheduler: Scheduler, open: Callable[[], Stream], priority: int, measured: bool
    ) -> None:
        self.arrived = time.monotonic()
        self.wake = threading.Condition(scheduler.lock)
        self.has_turn = False
        self.cancelled = False
        self.samples: int | None = None  # of all of it, where it is measured
        self.first_sound: float | None = None  # seconds from its arrival to its first chunk
        self.seconds = 0.0  # of audio that was computed
        self.pieces = 0
        self.granted = 0.0  # time of its last turn
        self.computing = 0.0  # seconds of its turns
        self._scheduler = scheduler
        self._open = open
        self._measured = measured
        self._priority = priority
        self._stream: Stream | None = None
        self._chunks: deque[Chunk] = deque()
        self._held = 0.0  # seconds of audio in _chunks
        self._planned = 0  # samples
        self._read = 0  # characters
        self._claim = self.arrived  # later while all of it is planned, so that a book holds up no sentence
        self._ended = False
        self._error: BaseException | None = None
        self._notices: list[str] = []
        self._taken = 0  # notices that `take_notices` has given
        self._loop = asyncio.get_running_loop()
        self._news = asyncio.Event()
        self._thread = threading.Thread(target=self._run, name="kokoro-tvm-request", daemon=True)

    @property
    def notices(self) -> list[str]:
        """What came up so far: words that were left out, and the like."""
        return list(self._notices)

    def take_notices(self) -> list[str]:
        """Return the notices since the last call."""
        fresh = self._notices[self._taken :]
        self._taken += len(fresh)
        return fresh

    def start(self) -> None:
        """Start its thread."""
        self._thread.start()

    def join(self) -> None:
        """Wait until its thread has ended."""
        self._thread.join()

    @property
    def urgency(self) -> tuple[int, float]:
        """The least goes first: by priority, then by the time at which its listener hears nothing more."""
        if self.first_sound is None:
            return -self._priority, self._claim - self._scheduler.settings.head_start
        return -self._priority, self.arrived + self.first_sound + self.seconds

    @property
    def outcome(self) -> str:
        """How it ended, in a word: spoken, cancelled, refused or failed."""
        if self._error is not None:
            return "refused" if isinstance(self._error, InputError) else "failed"
        return "cancelled" if self.cancelled else "spoken"

    def cancel(self) -> None:
        """End the work, the component that runs included; nothing more is given."""
        with self._scheduler.lock:
            self.cancelled = True
            self._chunks.clear()
            if self._stream is not None:
                self._stream.close()
            self.wake.notify_all()
        self._news.set()

    async def begin(self) -> int | None:
        """Wait until its first chunk is there; the number of its samples where it is measured.

        Raises what came before there was a sound: an answer with an error can still be given.
        """
        while not (self._chunks or self._ended or self.cancelled):
            self._news.clear()
            if not (self._chunks or self._ended or self.cancelled):
                await self._news.wait()
        if self._error is not None and not self.pieces:
            raise self._error
        return self.samples

    async def __anext__(self) -> Chunk:
        while not self.cancelled:
            with self._scheduler.lock:
                if self._chunks:
                    chunk = self._chunks.popleft()
                    self._held -= len(chunk.audio) / chunk.sample_rate
                    self.wake.notify_all()
                    return chunk
                if self._ended:
                    break
                self._news.clear()
            await self._news.wait()
        if self._error is not None:
            raise self._error
        raise StopAsyncIteration

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.cancel()

    def pause(self, until: Callable[[], bool]) -> None:
        """Wait, without a turn, on the job's thread; raises CancelledError where it is cancelled."""
        with self._scheduler.lock:
            if until():
                return
            self._scheduler.give(self)
            self.wake.wait_for(lambda: until() or self.cancelled)
            self._scheduler.take(self)

    def without_turn(self, wait: Callable[[], T]) -> T:
        """The result of `wait`, on the job's thread, while others compute; raises as `pause` does."""
        self._scheduler.give(self)
        result = wait()
        self._scheduler.take(self)
        return result

    def check(self) -> None:
        """Between two components: whether to go on now, later or not at all."""
        self._scheduler.check(self)

    def before_reading(self, length: int) -> None:
        """As `check`, before so many characters of its text: a long one without a sound holds up nobody."""
        self.check()
        self._read += length
        if self._read > _PORTION:
            self._claim += _BEHIND * length / _PORTION

    def _note(self, notice: str) -> None:
        if notice not in self._notices and len(self._notices) < _MOST_NOTICES:
            self._notices.append(truncate(notice, _LONGEST_NOTICE))

    def _run(self) -> None:
        _current.job = self
        with receiving(self._note):
            self._compute()

    def _compute(self) -> None:
        try:
            self._scheduler.take(self)
            self._work()
        except CancelledError:
            pass
        except BaseException as error:  # whoever reads raises it
            _clear_locals(error)
            self._error = error
        finally:
            with self._scheduler.lock:  # whoever reads the end finds its place free
                self._ended = True
                self._stream = None
                del self._open  # which has the text, and it the job
                self._scheduler.forget(self)
                self._notify()

    def _work(self) -> None:
        """What the job's thread does with its turns."""
        stream = self._open()
        with self._scheduler.lock:
            self._stream = stream
            if self.cancelled:
                raise CancelledError
        with stream:
            if self._measured:
                while self._plan(stream):
                    self._claim = self.arrived + self._planned / stream.plan.sample_rate
                self._claim = time.monotonic()
                self.samples = self._planned
            while self._measured or self._plan(stream):
                if (chunk := next(stream, None)) is None:
                    break
                self._deliver(chunk)

    def _plan(self, stream: Stream) -> bool:
        """Plan one piece more, and whether there is one; raises InputError before too much is rendered."""
        piece = stream.plan_ahead()
        if piece is None:
            return False
        self._planned += piece.samples(stream.plan.samples_per_frame)
        rate, most = stream.plan.sample_rate, self._scheduler.settings
        if self._planned > most.longest * rate:
            raise InputError(f"The speech lasts longer than {most.longest:g} s. Send the text in parts.")
        if piece.pause > most.longest_pause * rate:
            raise InputError(f"A pause lasts longer than {most.longest_pause:g} s. Shorten it.")
        return True

    def _deliver(self, chunk: Chunk) -> None:
        seconds = len(chunk.audio) / chunk.sample_rate
        with self._scheduler.lock:
            if self.cancelled:
                raise CancelledError
            if self.first_sound is None:
                self.first_sound = time.monotonic() - self.arrived
            self.seconds += seconds
            self.pieces += 1
            self._held += seconds
            self._chunks.append(chunk)
        self._notify()
        self.pause(until=lambda: self._held < self._scheduler.settings.ahead)

    def _notify(self) -> None:
        self._loop.call_soon_threadsafe(self._news.set)


class Computation(SpeechJob):
    """A request for the result of a function, which is a speech no further than that it has turns."""

    _result: Any = None

    @property
    def urgency(self) -> tuple[int, float]:
        """Behind whoever hears nothing yet, and in the order of arrival: one is under way at a time."""
        return -self._priority, self.arrived

    def before_reading(self, length: int) -> None:
        self.check()

    async def result(self) -> Any:
        """Wait for the result, None if the job is cancelled; raises what the function raises."""
        await self.begin()
        return self._result

    def _work(self) -> None:
        self._result = self._open()


class Feed(Iterator[str]):
    """A text that comes in portions, for `Synthesizer.stream` in a job, which waits for it without a turn."""

    def __init__(self) -> None:
        self._portions: deque[str] = deque()
        self._ended = False
        self._job: SpeechJob | None = None

    def put(self, portion: str) -> None:
        """More of the text, from any thread."""
        self._portions.extend(_portions(portion))
        self._wake()

    def end(self) -> None:
        """The text is complete."""
        self._ended = True
        self._wake()

    def clear(self) -> None:
        """Let go of what has not been read: it is not spoken."""
        self._portions.clear()
        self.end()

    def __next__(self) -> str:
        job: SpeechJob = _current.job
        with job.wake:
            self._job = job
        job.pause(until=lambda: bool(self._portions) or self._ended)
        try:
            portion = self._portions.popleft()
        except IndexError:  # it has ended
            raise StopIteration from None
        job.before_reading(len(portion))
        return portion

    def _wake(self) -> None:
        if self._job is not None:
            with self._job.wake:
                self._job.wake.notify_all()


class Yielding:
    """A runner that asks before every component whether the request that it runs for may go on."""

    def __init__(self, runner: ComponentRunner) -> None:
        self._runner = runner

    def run(self, component: str, length: int, *inputs: Any) -> tuple[Any, ...]:
        job: SpeechJob | None = getattr(_current, "job", None)
        if job is not None:
            job.check()
        return self._runner.run(component, length, *inputs)
