"""Limits of connections that uvicorn has no settings for: their number, and the time until a request."""

from __future__ import annotations

import asyncio
import errno
import logging
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

_log = logging.getLogger("kokoro_tvm.serving")
_OTHER_FILES = 512  # of the bundle, the page, Wyoming's clients
_BURST = 4096  # connections that may be accepted before those above the limit are closed
_NO_RESOURCES = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)


@dataclass
class Connections:
    """Open connections of a server; `connections` of the state that its lifespan yields.

    Attributes:
        timeout_s: Seconds until a new or idle connection must have sent the head of a request.
        limit: Number of connections at a time.
    """

    timeout_s: float
    limit: int
    open: set[TimedProtocol] = field(default_factory=set)


def limit_connections(limit: int) -> int:
    """Raise the soft limit of open files, and return how many connections, at most `limit`, it allows."""
    try:
        import resource
    except ModuleNotFoundError:  # Windows has no such limit
        return limit
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    target = limit + _OTHER_FILES + _BURST
    if hard != resource.RLIM_INFINITY:
        target = min(target, hard)
    if soft == resource.RLIM_INFINITY:
        return limit
    if soft < target:
        with suppress(ValueError, OSError):  # macOS has another limit beside the hard one
            resource.setrlimit(resource.RLIMIT_NOFILE, (target, hard))
        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    possible = max(soft - _OTHER_FILES, soft // 2)
    if possible >= limit:
        return limit
    _log.warning(
        "fewer connections than max_connections: raise the limit of open files (ulimit -n)",
        extra={"connections": possible, "open_files": soft},
    )
    return possible


def log_loop_errors(loop: asyncio.AbstractEventLoop) -> None:
    """Log errors of an event loop as one line each, and a lack of open files at most once a second."""
    logged = -1.0

    def handle(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Log an error of the event loop."""
        nonlocal logged
        error = context.get("exception")
        if isinstance(error, OSError) and error.errno in _NO_RESOURCES:
            if loop.time() >= logged + 1.0:
                logged = loop.time()
                _log.error(
                    "connections wait: no file is left for them; raise the limit of open files (ulimit -n)",
                    extra={"error": str(error)},
                )
            return
        _log.error(context["message"], exc_info=error)

    loop.set_exception_handler(handle)


class TimedProtocol(H11Protocol):
    """uvicorn's protocol, which closes connections that are too many or send no request.

    It uses nothing of uvicorn's class but the methods of `asyncio.Protocol` and `app_state`.
    """

    def __init__(self, *, app_state: dict[str, Any], **options: Any) -> None:
        super().__init__(app_state=app_state | {"connection": self}, **options)
        self._registry: Connections = app_state["connections"]
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the timer, or close the connection if there are too many."""
        super().connection_made(transport)
        self._close = transport.close
        self._registry.open.add(self)
        if len(self._registry.open) > self._registry.limit:
            transport.abort()
        else:
            self.start_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timer."""
        self.stop_timer()
        self._registry.open.discard(self)
        super().connection_lost(exc)

    def start_timer(self) -> None:
        """Close the connection unless the head of a request comes in time."""
        if self in self._registry.open:
            self._timer = asyncio.get_running_loop().call_later(self._registry.timeout_s, self._close)

    def stop_timer(self) -> None:
        """Stop waiting: a request has begun, or the connection is closed."""
        if self._timer is not None:
            self._timer.cancel()

    def upgrade(self) -> None:
        """Forget the connection, which is a WebSocket from now on."""
        self._registry.open.discard(self)


class ConnectionTimer:
    """Middleware that stops the timer of a connection during a request."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request without its timer."""
        connection: TimedProtocol | None = scope.get("state", {}).get("connection")
        if connection is None:  # of the lifespan
            await self._app(scope, receive, send)
            return
        connection.stop_timer()
        if scope["type"] == "websocket":
            connection.upgrade()
        try:
            await self._app(scope, receive, send)
        finally:
            connection.start_timer()
