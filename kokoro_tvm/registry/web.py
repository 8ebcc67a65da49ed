"""Requests to registries and web servers: what fails is one reason, and whether to try again."""

from __future__ import annotations

import http.client
import json
import os
import re
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import urlencode, urljoin, urlsplit

from kokoro_tvm.registry.address import is_loopback

__all__ = ["TransferError", "Web", "failed", "next_url"]

_PATIENCE = 30.0  # seconds without a byte
_ANSWER = 1 << 16  # bytes of an error or a token that are read
_WORDS = 300  # characters of an error that are shown
_PASSING = frozenset({408, 425, 429, 500, 502, 503, 504})  # statuses that may be others the next time


class TransferError(Exception):
    """Why a request failed. status: of HTTP, 0 where there was none; passing: another try may do better;
    challenge: how a server wants to know who asks."""

    def __init__(self, reason: str, status: int = 0, passing: bool = False, challenge: str = "") -> None:
        super().__init__(reason)
        self.status = status
        self.passing = passing
        self.challenge = challenge


class _Redirects(urllib.request.HTTPRedirectHandler):
    """What came encrypted is not led to where it would not be."""

    def redirect_request(
        self, req: urllib.request.Request, fp: Any, code: int, msg: str, headers: Any, newurl: str
    ) -> urllib.request.Request | None:
        if not _is_private(newurl):
            raise TransferError(f"it leads to {newurl}, which is not encrypted")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


class Web:
    """HTTP with the authentication of registries: a token where one is wanted, for whoever is logged in."""

    def __init__(self, patience: float = _PATIENCE) -> None:
        """patience: seconds that may pass without a byte."""
        self._patience = patience
        self._opener = urllib.request.build_opener(_Redirects)
        self._direct = urllib.request.build_opener(_Redirects, urllib.request.ProxyHandler({}))
        self._authorization: dict[str, str] = {}  # host -> header

    def open(
        self,
        url: str,
        method: str = "GET",
        headers: Mapping[str, str] | None = None,
        body: BinaryIO | bytes | None = None,
    ) -> http.client.HTTPResponse:
        """The answer, if its status is one of success. Raises TransferError.

        A file as `body` is sent from where it stands, and needs a Content-Length.
        """
        try:
            return self._send(url, method, headers or {}, body)
        except TransferError as error:
            if error.status != 401 or not error.challenge:
                raise
            host = urlsplit(url).netloc
            self._authorization[host] = self._answer(error.challenge, host)
        if body is not None and not isinstance(body, bytes):
            body.seek(0)
        return self._send(url, method, headers or {}, body)

    def _send(
        self, url: str, method: str, headers: Mapping[str, str], body: BinaryIO | bytes | None
    ) -> http.client.HTTPResponse:
        request = urllib.request.Request(url, method=method, headers=dict(headers), data=body)
        if authorization := self._authorization.get(urlsplit(url).netloc):
            # A registry sends on to servers of files, which must not have it.
            request.add_unredirected_header("Authorization", authorization)
        opener = self._direct if is_loopback(urlsplit(url).netloc) else self._opener
        try:
            answer: http.client.HTTPResponse = opener.open(request, timeout=self._patience)
        except urllib.error.HTTPError as error:
            with error:
                raise _refused(error) from error
        except (OSError, http.client.HTTPException) as error:  # URLError, too, is an OSError
            raise failed(error, self._patience) from error
        return answer

    def _answer(self, challenge: str, host: str) -> str:
        """The header that answers a challenge (RFC 6750, RFC 7617; the token service of registries)."""
        scheme, _, rest = challenge.partition(" ")
        login = _login(host)
        if scheme.lower() == "basic" and login:
            return f"Basic {login}"
        fields = dict(re.findall(r'(\w+)="([^"]*)"', rest))
        realm = fields.pop("realm", "")
        if scheme.lower() != "bearer" or not _is_private(realm):
            raise TransferError(
                f"it wants a login. Run `docker login {host}`, or another that writes its file"
            )
        wanted = urlencode({key: fields[key] for key in ("service", "scope") if key in fields})
        headers = {"Authorization": f"Basic {login}"} if login else {}
        with self._send(f"{realm}{'&' if '?' in realm else '?'}{wanted}", "GET", headers, None) as answer:
            found = _json(answer.read(_ANSWER))
        token = found.get("token") or found.get("access_token")
        if not isinstance(token, str):
            raise TransferError(f"{realm} gives no token")
        return f"Bearer {token}"


def failed(error: OSError | http.client.HTTPException, patience: float = _PATIENCE) -> TransferError:
    """The reason of a connection that could not be made, or broke."""
    cause = error.reason if isinstance(error, urllib.error.URLError) else error
    if isinstance(cause, TimeoutError):
        return TransferError(f"it sent nothing for {patience:g} s", passing=True)
    if isinstance(cause, http.client.HTTPException):
        return TransferError("it broke off its answer", passing=True)
    reason = getattr(cause, "strerror", None) or getattr(cause, "reason", None) or cause
    return TransferError(str(reason), passing=isinstance(cause, ConnectionError))


def next_url(url: str, answer: http.client.HTTPResponse) -> str:
    """Where an answer's Location leads."""
    location = answer.headers.get("Location", "")
    if not location:
        raise TransferError("it does not say where to send a file")
    return urljoin(url, location)


def _is_private(url: str) -> bool:
    """Whether nobody on the way reads along: it is encrypted, or stays on this machine."""
    split = urlsplit(url)
    return split.scheme == "https" or (split.scheme == "http" and is_loopback(split.netloc))


def _refused(error: urllib.error.HTTPError) -> TransferError:
    """The registry's own words where it has some, which it sends as JSON."""
    try:
        found = _json(error.read(_ANSWER)).get("errors")
        message = found[0].get("message") if isinstance(found, list) and found else None
    except (OSError, http.client.HTTPException, AttributeError):  # then its status has to do
        message = None
    words = f", {message}" if isinstance(message, str) else f" {error.reason}".rstrip()
    reason = f"status {error.code}" + "".join(c if c.isprintable() else "?" for c in words[:_WORDS])
    challenge = error.headers.get("WWW-Authenticate", "")
    return TransferError(reason, error.code, error.code in _PASSING, challenge)


def _login(host: str) -> str:
    """What `docker login`, `podman login` or `oras login` wrote for a host, as Basic; empty without one."""
    folder = os.environ.get("DOCKER_CONFIG") or Path.home() / ".docker"
    path = Path(folder, "config.json")
    found = _json(path.read_bytes()) if path.is_file() else {}
    logins = found.get("auths")
    entry = logins.get(host) if isinstance(logins, dict) else None
    given = entry.get("auth") if isinstance(entry, dict) else None
    return given if isinstance(given, str) else ""


def _json(content: bytes) -> dict[str, Any]:
    try:
        found = json.loads(content)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
