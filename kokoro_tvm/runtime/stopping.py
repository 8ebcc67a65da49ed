"""Cancellation of the work for a request, from any thread, also within compiled code."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_current = threading.local()


class CancelledError(Exception):
    """The work was cancelled."""


class Cancellation:
    """The cancellation state of one request."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._stopped = False
        self._end: Callable[[], object] | None = None

    @property
    def stopped(self) -> bool:
        """Whether `stop` was called."""
        return self._stopped

    def stop(self) -> None:
        """Cancel the work; any thread may call it."""
        with self._lock:
            self._stopped = True
            if self._end is not None:
                self._end()

    @contextmanager
    def working(self) -> Iterator[None]:
        """Make this the thread's `current_cancellation`; raises CancelledError at both ends of the block."""
        self._check()
        before = current_cancellation()
        _current.stopping = self
        try:
            yield
        finally:
            _current.stopping = before
        self._check()

    @contextmanager
    def ended_by(self, end: Callable[[], object]) -> Iterator[None]:
        """Let `stop` call `end`, which makes a call in the block return early.

        Raises:
            CancelledError: before the block, or instead of the block's result or error.
        """
        with self._lock:
            self._check()
            self._end = end
        try:
            yield
        except Exception:
            self._check()
            raise
        finally:
            with self._lock:
                self._end = None
        self._check()

    def _check(self) -> None:
        if self._stopped:
            raise CancelledError


def current_cancellation() -> Cancellation | None:
    """Return the state of the request that this thread works for."""
    stopping: Cancellation | None = getattr(_current, "stopping", None)
    return stopping
