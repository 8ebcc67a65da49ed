"""A bound on the bytes that clients have sent together and that are not handled yet."""

from __future__ import annotations

from typing import Protocol

__all__ = ["ByteBudget", "Holder"]


class Holder(Protocol):
    """A client that holds bytes."""

    def drop(self) -> None:
        """Close its connection."""


class ByteBudget:
    """Bytes of each client. If all hold more than `most`, the client that holds most is dropped."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._held: dict[Holder, int] = {}

    def hold(self, holder: Holder, size: int) -> None:
        """Set how many bytes a client holds."""
        self._held[holder] = size
        while sum(self._held.values()) > self._most:
            largest = max(self._held, key=self._held.__getitem__)
            self.forget(largest)
            largest.drop()

    def forget(self, holder: Holder) -> None:
        """Release what a client holds."""
        self._held.pop(holder, None)
