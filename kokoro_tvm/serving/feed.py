"""Texts of jobs, in portions: between two portions a job yields its turn."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from kokoro_tvm.serving.jobs import PORTION, SpeechJob, current_job


def read_in_turns(text: str) -> Iterator[str]:
    """Yield a text in portions, on the thread of a job; a more urgent job computes first before each."""
    job = current_job()
    assert job is not None
    for portion in _split(text):
        job.before_reading(len(portion))
        yield portion


def _split(text: str) -> Iterator[str]:
    """Yield portions of PORTION characters."""
    return (text[start : start + PORTION] for start in range(0, len(text), PORTION))


class Feed(Iterator[str]):
    """Text that arrives in portions, for `Synthesizer.stream` in a job, which waits without its turn."""

    def __init__(self) -> None:
        self._portions: deque[str] = deque()
        self._has_ended = False
        self._job: SpeechJob | None = None

    def put(self, portion: str) -> None:
        """Append to the text, from any thread."""
        self._portions.extend(_split(portion))
        self._wake()

    def end(self) -> None:
        """Mark the text as complete."""
        self._has_ended = True
        self._wake()

    def clear(self) -> None:
        """Drop the part of the text that is not read, and end it."""
        self._portions.clear()
        self.end()

    def __next__(self) -> str:
        """Return the next portion. The job gives its turn to others while there is none."""
        job = current_job()
        assert job is not None
        with job.wake:
            self._job = job
        job.pause(until=lambda: bool(self._portions) or self._has_ended)
        try:
            portion = self._portions.popleft()
        except IndexError:  # the text has ended
            raise StopIteration from None
        job.before_reading(len(portion))
        return portion

    def _wake(self) -> None:
        """Wake the job if it waits for text."""
        if self._job is not None:
            with self._job.wake:
                self._job.wake.notify_all()
