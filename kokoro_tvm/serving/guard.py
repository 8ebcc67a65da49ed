"""Middleware that every request passes first: keys, hosts, origins, bounds of bodies, log and metrics."""

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
from kokoro_tvm.serving.requests import LIMITS
from kokoro_tvm.serving.settings import Settings

_log = logging.getLogger("kokoro_tvm.serving")
_PROTECTED_PATHS = ("/v1/", "/dev/", "/metrics")
_CLOSE = {"Connection": "close"}  # the rest of the body is not read


@dataclass
class _BodySize:
    """Bytes of a request's body that have arrived."""

    bytes: int = 0


class Guard:
    """ASGI middleware around the routes.

    It sees a request before FastAPI reads its body: a dependency would see it afterwards.
    """

    def __init__(self, app: ASGIApp, settings: Settings, metrics: Metrics) -> None:
        self._app = app
        self._settings = settings
        self._metrics = metrics
        self._pending_bytes = 0  # of bodies of requests without a response
        self._hosts = {name.lower() for name in (settings.host, *settings.hosts)}
        keys = [(key, 0) for key in settings.api_key] + [(key, 1) for key in settings.priority_key]
        self._keys = [(_hash_key(key), priority) for key, priority in keys]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse a request, or pass it on."""
        LIMITS.set(self._settings)
        if scope["type"] == "http":
            await self._handle_request(scope, receive, send)
        elif scope["type"] == "websocket" and (refusal := self._refuse(scope)) is not None:
            await WebSocket(scope, receive, send).send_denial_response(refusal.response())
        else:
            await self._app(scope, receive, send)

    async def _handle_request(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse a request or pass it on, with a request id in the response; count and log it."""
        started, request_id = time.monotonic(), secrets.token_hex(8)
        status = 0
        size = _BodySize()

        async def send_with_id(message: Message) -> None:
            """Send a message, the head of the response with the request id."""
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", ()), (b"x-request-id", request_id.encode())]
            await send(message)

        try:
            refusal = self._refuse(scope)
            if refusal is None:
                await self._app(scope, self._bound_body(receive, size), send_with_id)
            else:
                await refusal.response()(scope, receive, send_with_id)
        finally:
            self._pending_bytes -= size.bytes
            path = getattr(scope.get("route"), "path", "unknown")
            self._metrics.count_request(path, status)
            _log.info(
                "request",
                extra={
                    "request": request_id,
                    "client": (scope.get("client") or ("",))[0],
                    "method": scope["method"],
                    "path": scope["path"][:200],
                    "status": status,
                    "seconds": round(time.monotonic() - started, 4),
                },
            )

    def _refuse(self, scope: MutableMapping[str, Any]) -> ApiError | None:
        """Return the error response to a request that may not be handled, else None; store its priority."""
        headers = Headers(scope=scope)
        if not self._authorize(scope, headers):
            return ApiError(
                401,
                "The key is missing or wrong. Send `Authorization: Bearer KEY`.",
                code="invalid_api_key",
                headers={"WWW-Authenticate": "Bearer"} | _CLOSE,
            )
        if not self._settings.api_key and not self._is_served_host(headers.get("host")):
            message = (
                "The server does not answer to this name (`Host`). Use its address, or set `hosts` to the "
                "name. A server that requires a key (`api_key`) answers to every name."
            )
            return ApiError(403, message, code="host_not_allowed", headers=_CLOSE)
        if not self._is_allowed_origin(headers):
            message = (
                "Pages of this origin may send no requests. The setting `cors` names those that may, and a "
                "proxy should pass `Host` on."
            )
            return ApiError(403, message, code="origin_not_allowed", headers=_CLOSE)
        length = headers.get("content-length", "0")
        if length.isdecimal() and int(length) > self._settings.max_body_bytes:
            return self._too_large_error()
        return None

    def _is_served_host(self, host: str | None) -> bool:
        """Return whether a Host header names this server: a local name, an address or an allowed host."""
        # A stranger may point a name at this machine (DNS rebinding). Browsers then take the server for the
        # one that sent the stranger's page. An address cannot be used so, nor can a name without a dot, which
        # no stranger can register.
        if host is None:
            return True  # every browser sends it
        try:
            name = urlsplit(f"//{host}").hostname or ""
        except ValueError:
            return False
        is_local = "." not in name or name.endswith(".localhost") or _is_address(name)
        return is_local or not self._hosts.isdisjoint(("*", name))

    def _is_allowed_origin(self, headers: Headers) -> bool:
        """Return whether a request is not of a page, or of a page that may send requests."""
        # A browser sends the requests of forms, and opens WebSockets, without asking the server first.
        origin = headers.get("origin")
        is_own = origin is None or _host_and_port(origin) == headers.get("host")
        return is_own or not {"*", origin}.isdisjoint(self._settings.cors)

    def _authorize(self, scope: MutableMapping[str, Any], headers: Headers) -> bool:
        """Store the priority of a request's key in its state; return whether it may be handled."""
        scheme, _, word = headers.get("authorization", "").partition(" ")
        digest = _hash_key(word.strip() if scheme.lower() == "bearer" else "")
        matches = [priority for key, priority in self._keys if hmac.compare_digest(digest, key)]
        scope.setdefault("state", {})["priority"] = max(matches, default=0)
        is_protected = scope["type"] == "websocket" or scope["path"].startswith(_PROTECTED_PATHS)
        return bool(matches) or not (is_protected and self._settings.api_key)

    def _bound_body(self, receive: Receive, size: _BodySize) -> Receive:
        """Wrap `receive` of a request: it raises ApiError for a body that is too large or too slow."""
        is_complete = False
        limit_of_all = self._settings.max_requests * self._settings.max_body_bytes
        deadline = time.monotonic() + self._settings.request_timeout_s

        async def receive_bounded() -> Message:
            """Receive a part of the body, and count its bytes.

            Raises ApiError if it is late, or too large alone or with others.
            """
            nonlocal is_complete
            if is_complete:
                return await receive()
            try:
                message = await asyncio.wait_for(receive(), max(0.0, deadline - time.monotonic()))
            except asyncio.TimeoutError:  # noqa: UP041 - in Python 3.10 it is another
                text = f"The body did not come within {self._settings.request_timeout_s:g} s."
                raise ApiError(408, text, code="request_timeout", headers=_CLOSE) from None
            part = len(message.get("body", b""))
            size.bytes += part
            self._pending_bytes += part
            is_complete = not message.get("more_body", False)
            if size.bytes > self._settings.max_body_bytes:
                raise self._too_large_error()
            if self._pending_bytes > limit_of_all:
                text = "The requests without an answer are too large together. Try again in a second."
                headers = {"Retry-After": "1"} | _CLOSE
                raise ApiError(429, text, code="rate_limit_exceeded", headers=headers)
            return message

        return receive_bounded

    def _too_large_error(self) -> ApiError:
        """Return the error of a body that is too large."""
        message = f"The body has more than {self._settings.max_body_bytes} bytes."
        return ApiError(413, message, code="body_too_large", headers=_CLOSE)


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _host_and_port(origin: str) -> str | None:
    """Return HOST:PORT of an origin as a Host header has it, or None if it is invalid."""
    try:
        return urlsplit(origin).netloc
    except ValueError:
        return None


def _hash_key(key: str) -> bytes:
    """Return the digest of a key: digests are compared in equal time, whatever the keys' lengths."""
    return hashlib.sha256(key.encode("utf-8", "surrogateescape")).digest()
