"""Bound on the unhandled bytes of all clients together."""

from __future__ import annotations

from typing import Protocol


class Holder(Protocol):
    """Client that holds bytes."""

    def drop(self) -> None:
        """Close its connection."""


class ByteBudget:
    """Bytes of each client. If all together exceed a limit, the client that holds most is dropped."""

    def __init__(self, limit: int) -> None:
        self.total = 0
        self._limit = limit
        self._sizes: dict[Holder, int] = {}

    def hold(self, holder: Holder, size: int) -> None:
        """Set the number of bytes that a client holds."""
        self.total += size - self._sizes.get(holder, 0)
        self._sizes[holder] = size
        while self.total > self._limit:
            # Of equal ones the newest, so that new clients cannot drop older ones.
            largest = max(reversed(self._sizes), key=self._sizes.__getitem__)
            self.release(largest)
            largest.drop()

    def release(self, holder: Holder) -> None:
        """Release the bytes of a client."""
        self.total -= self._sizes.pop(holder, 0)
