"""Stopping the work for a request, from any thread, also in the middle of compiled code."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["Stopped", "Stopping", "current_stopping"]

_current = threading.local()


class Stopped(Exception):  # noqa: N818 - not an error: it was requested
    """The work was stopped by its owner; nothing is computed any more."""


class Stopping:
    """Whether the work for one request is to end, and what ends the call that runs."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._stopped = False
        self._end: Callable[[], object] | None = None

    @property
    def stopped(self) -> bool:
        """Whether `stop` was called."""
        return self._stopped

    def stop(self) -> None:
        """End the work; any thread may call it."""
        with self._lock:
            self._stopped = True
            if self._end is not None:
                self._end()

    @contextmanager
    def working(self) -> Iterator[None]:
        """Work that this thread does for the request, which `current_stopping` finds. Raises Stopped before
        and after it."""
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
        """A call that `end` makes return early, with results or an error that mean nothing; Stopped is raised
        in their place, and where it is too late to begin."""
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
    """That of the request that this thread works for."""
    found: Stopping | None = getattr(_current, "stopping", None)
    return found
