"""Cancellation of the work for a request, from any thread, also within compiled code."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["Stopped", "Stopping", "current_stopping"]

_current = threading.local()


class Stopped(Exception):  # noqa: N818 - a cancellation is no error
    """The work was cancelled."""


class Stopping:
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
        """Make this the `current_stopping` of the thread; raises Stopped before and after the block."""
        self._check()
        before = current_stopping()
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
            Stopped: before the block, or instead of the block's result or error.
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
            raise Stopped


def current_stopping() -> Stopping | None:
    """Return the state of the request that this thread works for."""
    stopping: Stopping | None = getattr(_current, "stopping", None)
    return stopping
