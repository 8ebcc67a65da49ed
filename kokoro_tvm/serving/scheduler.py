"""Decides which request computes next: a fair queue, component by component.

Every request has a thread, and only the thread that has the turn computes. It gives the turn up between two
components if a more urgent request waits, and while its reader is slow or its text has not come. So a short
request is heard while a long one is spoken, and no slow reader holds up another.
"""

from __future__ import annotations

import asyncio
import math
import threading
import time
from collections.abc import Callable
from typing import Any

from kokoro_tvm.common.errors import KokoroTvmError
from kokoro_tvm.runtime.speech.stream import Stream
from kokoro_tvm.runtime.stopping import CancelledError
from kokoro_tvm.serving.computation import Computation
from kokoro_tvm.serving.jobs import SpeechJob
from kokoro_tvm.serving.settings import Settings


class BusyError(KokoroTvmError):
    """The queue is full; `retry_after` is the number of seconds after which a request may be accepted."""

    def __init__(self, limit: int, retry_after: int) -> None:
        super().__init__(
            f"{limit} requests are being spoken, which is the most. Try again in {retry_after} s."
        )
        self.retry_after = retry_after


class Scheduler:
    """Queue of jobs that compute in turns. One event loop submits and reads; `close` ends all jobs."""

    def __init__(self, settings: Settings, on_end: Callable[[SpeechJob], None] = lambda job: None) -> None:
        """Create a queue.

        Args:
            settings: Of the server.
            on_end: Called with every speech that has ended.
        """
        self.settings = settings
        self.lock = threading.RLock()
        self.jobs: set[SpeechJob] = set()
        self._waiting: list[SpeechJob] = []
        self._is_free = True  # one job computes at a time: compiled code uses all cores by itself
        self._on_end = on_end
        self._mean_duration_s = 1.0  # of the jobs that ended lately

    def submit(
        self, open_stream: Callable[[], Stream], priority: int = 0, is_measured: bool = False
    ) -> SpeechJob:
        """Start a job for speech, from the thread of the running event loop.

        Args:
            open_stream: Opens the stream of chunks, on the job's thread.
            priority: The greater goes first.
            is_measured: Plan all of it before the first audio, so that `begin` returns the number of samples.

        Raises:
            BusyError: There are `max_requests` jobs.
        """
        with self.lock:
            self.check_place()
            return self._start(SpeechJob(self, open_stream, priority, is_measured))

    def compute(self, function: Callable[[], Any], priority: int = 0) -> Computation:
        """Start a job for the result of a function, which reads its text by `read_in_turns`.

        Raises:
            BusyError: As `check_place` does.
        """
        with self.lock:
            self.check_place(is_computation=True)
            job = Computation(self, function, priority)
            self._start(job)
            return job

    def check_place(self, is_computation: bool = False) -> None:
        """Raise BusyError if there is no place for another job.

        Computations have half of the places at most: the others are for speech.
        """
        limit = self.settings.max_requests
        with self.lock:
            count = len(self.jobs)
            if is_computation and count < limit:
                limit = max(1, limit // 2)
                count = sum(isinstance(job, Computation) for job in self.jobs)
            if count >= limit:
                raise BusyError(limit, max(1, math.ceil(self._mean_duration_s)))

    @property
    def is_full(self) -> bool:
        """Whether another request would be refused."""
        return len(self.jobs) >= self.settings.max_requests

    @property
    def waiting(self) -> int:
        """Number of jobs that wait for their turn."""
        return len(self._waiting)

    async def close(self) -> None:
        """Cancel all jobs and wait until their threads have ended."""
        with self.lock:
            jobs = list(self.jobs)
        for job in jobs:
            job.cancel()
        for job in jobs:
            await asyncio.to_thread(job.join)

    def acquire(self, job: SpeechJob) -> None:
        """Wait for the turn. Raises CancelledError if the job is cancelled meanwhile."""
        with self.lock:
            self._waiting.append(job)
            self._grant()
            job.wake.wait_for(lambda: job.has_turn or job.cancelled)
            if not job.has_turn:
                self._waiting.remove(job)
                raise CancelledError

    def release(self, job: SpeechJob) -> None:
        """End a job's turn, if it has it: add its time to `computing_s`, and let another job compute."""
        with self.lock:
            if job.has_turn:
                job.has_turn = False
                job.computing_s += time.monotonic() - job.granted
                self._is_free = True
                self._grant()

    def yield_turn(self, job: SpeechJob) -> None:
        """Let a more urgent job compute first. Raises CancelledError if the job is cancelled."""
        with self.lock:
            if job.cancelled:
                raise CancelledError
            if any(other.urgency < job.urgency for other in self._waiting):
                self.release(job)
                self.acquire(job)

    def remove(self, job: SpeechJob) -> None:
        """Remove a job whose thread ends: end its turn, report speech to `on_end`, note the duration."""
        with self.lock:
            self.release(job)
            self.jobs.discard(job)
            if not isinstance(job, Computation):
                self._on_end(job)
            self._mean_duration_s += 0.2 * (time.monotonic() - job.arrived - self._mean_duration_s)

    def _start(self, job: SpeechJob) -> SpeechJob:
        """Add a job and start its thread."""
        self.jobs.add(job)
        job.start()
        return job

    def _grant(self) -> None:
        """Give the turn, if it is free, to the most urgent job that waits, and wake its thread."""
        if self._is_free and self._waiting:
            job = min(self._waiting, key=lambda job: job.urgency)
            self._waiting.remove(job)
            self._is_free = False
            job.has_turn = True
            job.granted = time.monotonic()
            job.wake.notify_all()
