"""The route of sessions: text in pieces by WebSocket."""

from __future__ import annotations

from starlette.routing import WebSocketRoute
from starlette.websockets import WebSocket

from kokoro_tvm.serve.errors import ApiError
from kokoro_tvm.serve.service import Service
from kokoro_tvm.serve.session import WebSocketSession

__all__ = ["routes"]


def routes(service: Service) -> list[WebSocketRoute]:
    """The routes of a server."""
    sessions: set[WebSocketSession] = set()

    async def stream(socket: WebSocket) -> None:
        if len(sessions) >= service.settings.most_sessions:
            message = f"{service.settings.most_sessions} sessions are open, which is the most."
            await socket.send_denial_response(ApiError(429, message, code="rate_limit_exceeded").response())
            return
        await socket.accept()
        session = WebSocketSession(service, socket)
        sessions.add(session)
        try:
            await session.run()
        finally:
            sessions.discard(session)

    return [WebSocketRoute("/v1/audio/speech/stream", stream)]
