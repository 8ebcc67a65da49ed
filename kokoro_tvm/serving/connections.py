"""Connections: how many there may be, and how long one may go without a request."""

from __future__ import annotations

import asyncio
import errno
import logging
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.websockets.wsproto_impl import WSProtocol
from wsproto.events import CloseConnection

from kokoro_tvm.serving.budget import ByteBudget

__all__ = [
    "BoundedProtocol",
    "BoundedWebSocket",
    "Connections",
    "InRequest",
    "log_loop_errors",
    "possible_connections",
]

_log = logging.getLogger("kokoro_tvm.serving")
_OTHER_FILES = 512  # of the bundle, the page, Wyoming's clients
_EXHAUSTED = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
_BURST = 4096  # connections that may be accepted before those that are too many are closed


@dataclass
class Connections:
    """Those of a server, which are `connections` of the state that the lifespan gives.

    idle: seconds without a request, until which the head of the next one has to be there; most: at a time;
    budget: of the messages of WebSocket sessions.
    """

    idle: float
    most: int
    budget: ByteBudget
    open: set[BoundedProtocol] = field(default_factory=set)


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


def log_loop_errors(loop: asyncio.AbstractEventLoop) -> None:
    """Log errors of an event loop as one line each, and those of connections without a file once a second."""
    logged = -1.0

    def handle(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        nonlocal logged
        error = context.get("exception")
        if isinstance(error, OSError) and error.errno in _EXHAUSTED:
            if loop.time() >= logged + 1.0:
                logged = loop.time()
                _log.error(
                    "connections wait: no file is left for them; raise the limit of open files (ulimit -n)",
                    extra={"error": str(error)},
                )
            return
        _log.error(context["message"], exc_info=error)

    loop.set_exception_handler(handle)


class BoundedProtocol(H11Protocol):
    """uvicorn's protocol for connections that end when no request comes, at once where there are too many.

    Of uvicorn's class it knows what any class for `http` of its configuration has: the methods of
    `asyncio.Protocol`, and `app_state`, from which requests get their state.
    """

    def __init__(self, *, app_state: dict[str, Any], **given: Any) -> None:
        super().__init__(app_state=app_state | {"connection": self}, **given)
        self._known: Connections = app_state["connections"]
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._ending = transport.close
        self._known.open.add(self)
        if len(self._known.open) > self._known.most:
            transport.abort()
        else:
            self.end_request()

    def connection_lost(self, exc: Exception | None) -> None:
        self.forget()
        super().connection_lost(exc)

    def begin_request(self) -> None:
        """A request is there."""
        if self._timer is not None:
            self._timer.cancel()

    def end_request(self) -> None:
        """A request has been answered: the head of the next one may take a while."""
        self._timer = asyncio.get_running_loop().call_later(self._known.idle, self._ending)

    def forget(self) -> None:
        """It is a connection of this kind no longer."""
        self.begin_request()
        self._known.open.discard(self)


class BoundedWebSocket(WSProtocol):
    """uvicorn's protocol for WebSockets, with a bound on the bytes that all sessions have not handled yet."""

    _unread = 0

    def data_received(self, data: bytes) -> None:
        if self.handshake_complete and not self.close_sent:
            self._hold(self._unread + len(data))
        super().data_received(data)

    def connection_lost(self, exc: Exception | None) -> None:
        self._budget.forget(self)
        super().connection_lost(exc)

    async def receive(self) -> Any:
        if self.queue.empty() and not self.close_sent:  # the session has handled what it received before
            self._hold(self.buffer.length)
        return await super().receive()

    def drop(self) -> None:
        """Close it with code 1013, "try again later"."""
        self.close_sent = True
        self.buffer.clear()
        reason = "The messages of all sessions are too large together. Try again in a second."
        self.transport.write(self.conn.send(CloseConnection(code=1013, reason=reason)))
        self.transport.close()

    @property
    def _budget(self) -> ByteBudget:
        connections: Connections = self.app_state["connections"]
        return connections.budget

    def _hold(self, size: int) -> None:
        self._unread = size
        self._budget.hold(self, size)


class InRequest:
    """Middleware by which a connection knows when a request of it begins and ends."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        connection: BoundedProtocol | None = scope.get("state", {}).get("connection")
        if connection is None or scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        connection.begin_request()
        try:
            await self._app(scope, receive, send)
        finally:
            if scope["type"] == "websocket":
                connection.forget()  # its protocol is another since it was accepted, and is not asked again
            elif connection in connection._known.open:
                connection.end_request()
