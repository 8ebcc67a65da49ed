"""What every request passes first: its key, origin and bounds, its place in the logs and metrics."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import ipaddress
import logging
import secrets
import time
from collections.abc import MutableMapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocket

from kokoro_tvm.serving.errors import ApiError
from kokoro_tvm.serving.metrics import Metrics
from kokoro_tvm.serving.settings import Settings

__all__ = ["Guard"]

_log = logging.getLogger("kokoro_tvm.serving")
_GUARDED = ("/v1/", "/dev/", "/metrics")
_CLOSE = {"Connection": "close"}  # what is left of the body is not read


@dataclass
class _Body:
    """Body of a request: bytes that have come."""

    size: int = 0


class Guard:
    """Middleware around the whole application."""

    def __init__(self, app: ASGIApp, settings: Settings, metrics: Metrics) -> None:
        self._app = app
        self._settings = settings
        self._metrics = metrics
        self._held = 0  # bytes of bodies of requests that are not answered yet
        keys = [(key, 0) for key in settings.api_key] + [(key, 1) for key in settings.priority_key]
        self._keys = [(_digest(key), priority) for key, priority in keys]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await self._request(scope, receive, send)
        elif scope["type"] == "websocket" and (refusal := self._refusal(scope)) is not None:
            await WebSocket(scope, receive, send).send_denial_response(refusal.response())
        else:
            await self._app(scope, receive, send)

    async def _request(self, scope: Scope, receive: Receive, send: Send) -> None:
        start, name = time.monotonic(), secrets.token_hex(8)
        status = 0
        body = _Body()

        async def noted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", ()), (b"x-request-id", name.encode())]
            await send(message)

        try:
            refusal = self._refusal(scope)
            if refusal is None:
                await self._app(scope, self._bounded(receive, body), noted)
            else:
                await refusal.response()(scope, receive, noted)
        finally:
            self._held -= body.size
            route = scope.get("route")
            path = getattr(route, "path", "unknown")
            self._metrics.count_request(path, status)
            _log.info(
                "request",
                extra={
                    "request": name,
                    "client": (scope.get("client") or ("",))[0],
                    "method": scope["method"],
                    "path": scope["path"][:200],
                    "status": status,
                    "seconds": round(time.monotonic() - start, 4),
                },
            )

    def _refusal(self, scope: MutableMapping[str, Any]) -> ApiError | None:
        priority = self._priority(scope)
        if priority is None:
            return ApiError(
                401,
                "The key is missing or wrong. Send `Authorization: Bearer KEY`.",
                code="invalid_api_key",
                headers={"WWW-Authenticate": "Bearer"} | _CLOSE,
            )
        headers = Headers(scope=scope)
        if not self._settings.api_key and not self._serves(headers.get("host")):
            message = (
                "The server does not answer to this name (`Host`). Use its address, or set `hosts` to the "
                "name. A server that requires a key (`api_key`) answers to every name."
            )
            return ApiError(403, message, code="host_not_allowed", headers=_CLOSE)
        if not self._allows(headers):
            message = (
                "Pages of this origin may send no requests. The setting `cors` names those that may, and a "
                "proxy should pass `Host` on."
            )
            return ApiError(403, message, code="origin_not_allowed", headers=_CLOSE)
        length = headers.get("content-length", "0")
        if length.isdecimal() and int(length) > self._settings.most_bytes:
            return self._too_large()
        return None

    def _serves(self, host: str | None) -> bool:
        """Return whether a request may have this `Host`.

        A stranger may point a name at this machine (DNS rebinding). Browsers then take the server for the one
        that sent the stranger's page. An address cannot be used so, nor can a name without a dot, which no
        stranger can register.
        """
        if host is None:
            return True  # no browser leaves it out
        try:
            name = urlsplit(f"//{host}").hostname or ""
        except ValueError:
            return False
        names = {each.lower() for each in (self._settings.host, *self._settings.hosts)}
        own = "." not in name or name.endswith(".localhost") or _is_address(name)
        return own or not {"*", name}.isdisjoint(names)

    def _allows(self, headers: Headers) -> bool:
        """Whether no page sends a request, or one of this server or of `cors`. A browser sends what a form
        may send, and opens WebSockets, without asking first."""
        origin = headers.get("origin")
        own = origin is None or _place_of(origin) == headers.get("host")
        return own or not {"*", origin}.isdisjoint(self._settings.cors)

    def _priority(self, scope: MutableMapping[str, Any]) -> int | None:
        """That of the request's key, which its state has from now on; None where the key is wrong."""
        guarded = scope["type"] == "websocket" or scope["path"].startswith(_GUARDED)
        scheme, _, key = Headers(scope=scope).get("authorization", "").partition(" ")
        given = _digest(key.strip() if scheme.lower() == "bearer" else "")
        found: int | None = None
        for known, priority in self._keys:  # all of them, so that the time says nothing
            if hmac.compare_digest(given, known):
                found = priority
        scope.setdefault("state", {})["priority"] = found or 0
        return found if guarded and self._settings.api_key else found or 0

    def _bounded(self, receive: Receive, body: _Body) -> Receive:
        """Return what receives a body that is bounded in bytes and in time.

        It raises ApiError beyond, and if the bodies of all requests together are too large.
        """
        complete = False
        most_held = self._settings.most_requests * self._settings.most_bytes
        deadline = time.monotonic() + self._settings.idle

        async def bounded() -> Message:
            nonlocal complete
            if complete:
                return await receive()
            try:
                message = await asyncio.wait_for(receive(), max(0.0, deadline - time.monotonic()))
            except asyncio.TimeoutError:  # noqa: UP041 - in Python 3.10 it is another
                words = f"The body did not come within {self._settings.idle:g} s."
                raise ApiError(408, words, code="request_timeout", headers=_CLOSE) from None
            part = len(message.get("body", b""))
            body.size += part
            self._held += part
            complete = not message.get("more_body", False)
            if body.size > self._settings.most_bytes:
                raise self._too_large()
            if self._held > most_held:
                words = (
                    "The requests that are not answered yet are too large together. Try again in a second."
                )
                after = {"Retry-After": "1"} | _CLOSE
                raise ApiError(429, words, code="rate_limit_exceeded", headers=after)
            return message

        return bounded

    def _too_large(self) -> ApiError:
        words = f"The body has more than {self._settings.most_bytes} bytes."
        return ApiError(413, words, code="body_too_large", headers=_CLOSE)


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _place_of(origin: str) -> str | None:
    """Return host and port of an origin; None if it is none."""
    try:
        return urlsplit(origin).netloc
    except ValueError:
        return None


def _digest(key: str) -> bytes:
    return hashlib.sha256(key.encode("utf-8", "surrogateescape")).digest()
