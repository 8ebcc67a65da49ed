"""The route of sessions: text in pieces by WebSocket."""

from __future__ import annotations

from urllib.parse import urlsplit

from starlette.routing import WebSocketRoute
from starlette.websockets import WebSocket

from kokoro_tvm.serve.errors import ApiError
from kokoro_tvm.serve.service import Service
from kokoro_tvm.serve.session import Session

__all__ = ["routes"]


def routes(service: Service) -> list[WebSocketRoute]:
    """The routes of a server."""
    sessions: set[Session] = set()

    async def stream(socket: WebSocket) -> None:
        if not _own(socket) and not {"*", socket.headers["origin"]} & set(service.settings.cors):
            message = "Pages of this origin may open no sessions. The setting `cors` names those that may."
            await socket.send_denial_response(ApiError(403, message, code="origin_not_allowed").response())
            return
        if len(sessions) >= service.settings.most_sessions:
            message = f"{service.settings.most_sessions} sessions are open, which is the most."
            await socket.send_denial_response(ApiError(429, message, code="rate_limit_exceeded").response())
            return
        await socket.accept()
        session = Session(service, socket)
        sessions.add(session)
        try:
            await session.run()
        finally:
            sessions.discard(session)

    return [WebSocketRoute("/v1/audio/speech/stream", stream)]


def _own(socket: WebSocket) -> bool:
    """Whether a page of this server, or no page, opens the socket. Browsers do not ask before they do."""
    origin = socket.headers.get("origin")
    return origin is None or urlsplit(origin).netloc == socket.headers.get("host")
