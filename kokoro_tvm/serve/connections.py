"""Connections: how many there may be, and how long one may say nothing."""

from __future__ import annotations

import asyncio
import json
import logging
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from kokoro_tvm.serve.errors import ApiError

__all__ = ["BoundedProtocol", "Limits", "possible_connections"]

_log = logging.getLogger("kokoro_tvm.serve")
_OTHER_FILES = 512  # of the bundle, the page, Wyoming's clients
_BURST = 4096  # connections that may be accepted before those that are too many are closed


@dataclass(frozen=True)
class Limits:
    """idle: seconds; connections: at a time. They are `limits` of the state that the lifespan gives."""

    idle: float
    connections: int


def possible_connections(most: int) -> int:
    """How many connections, `most` at most, there can be at a time: each is an open file.

    The soft limit of this process is raised as far as its hard one lets it.
    """
    try:
        import resource
    except ModuleNotFoundError:  # Windows has no such limit
        return most
    unlimited = resource.RLIM_INFINITY
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = most + _OTHER_FILES + _BURST
    if soft != unlimited and soft < wanted:
        with suppress(ValueError, OSError):  # macOS has another limit beside the hard one
            resource.setrlimit(
                resource.RLIMIT_NOFILE, (wanted if hard == unlimited else min(wanted, hard), hard)
            )
        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == unlimited or most <= (possible := max(soft - _OTHER_FILES, soft // 2)):
        return most
    _log.warning(
        "fewer connections than most_connections: raise the limit of open files (ulimit -n)",
        extra={"connections": possible, "open_files": soft},
    )
    return possible


class BoundedProtocol(H11Protocol):
    """uvicorn's protocol for connections that end when the head of a request is not there some time after the
    connection or after its first byte, and at once where there are too many."""

    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > self._limits.connections:
            transport.abort()
        else:
            self._wait()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE:
            self._stop_waiting()
        elif self._timer is None:
            self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:
        """uvicorn's answer to what is no HTTP, in the shape of other errors."""
        body = json.dumps({"error": ApiError(400, msg).body}).encode()
        headers = [
            (b"content-type", b"application/json"),
            (b"content-length", str(len(body)).encode()),
            (b"connection", b"close"),
        ]
        events: list[Any] = [
            h11.Response(status_code=400, headers=headers, reason=b"Bad Request"),
            h11.Data(data=body),
            h11.EndOfMessage(),
        ]
        for event in events:
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()

    @property
    def _limits(self) -> Limits:
        limits: Limits = self.app_state["limits"]
        return limits

    def _wait(self) -> None:
        self._timer = self.loop.call_later(self._limits.idle, self.transport.close)

    def _stop_waiting(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
