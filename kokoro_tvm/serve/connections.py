"""Connections: how many there may be, and how long one may say nothing."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from kokoro_tvm.serve.errors import ApiError

__all__ = ["BoundedProtocol", "Limits"]


@dataclass(frozen=True)
class Limits:
    """idle: seconds; connections: at a time. They are `limits` of the state that the lifespan gives."""

    idle: float
    connections: int


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
