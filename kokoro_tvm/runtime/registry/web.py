"""Requests to registries and web servers: what fails is one reason, and whether to try again."""

from __future__ import annotations

import http.client
import json
import os
import re
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import urlencode, urljoin, urlsplit

from kokoro_tvm.runtime.registry.address import is_loopback

__all__ = ["TransferError", "Web", "failed", "next_url"]

_PATIENCE = 30.0  # seconds without a byte
_ANSWER = 1 << 16  # bytes of an error or a token that are read
_TOKEN = re.compile(r"[!-~]+")
_WORDS = 300  # characters of an error that are shown
_PASSING = frozenset({408, 425, 429, 500, 502, 503, 504})  # statuses that may be others the next time


class TransferError(Exception):
    """Why a request failed. status: of HTTP, 0 where there was none; passing: another try may do better;
    challenge: how the server at `url` wants to know who asks."""

    def __init__(
        self, reason: str, status: int = 0, passing: bool = False, challenge: str = "", url: str = ""
    ) -> None:
        super().__init__(reason)
        self.url = url
        self.status = status
        self.passing = passing
        self.challenge = challenge


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follow redirects that are no downgrade; every host gets its own credentials alone."""

    def __init__(self, authorize: Callable[[urllib.request.Request], None]) -> None:
        self._authorize = authorize

    def redirect_request(
        self, req: urllib.request.Request, fp: Any, code: int, msg: str, headers: Any, newurl: str
    ) -> urllib.request.Request | None:
        _check_private(newurl, req.full_url)
        request = super().redirect_request(req, fp, code, msg, headers, newurl)
        if request is not None:
            self._authorize(request)
        return request


class Web:
    """HTTP with the authentication of registries: a token where one is wanted, for whoever is logged in."""

    def __init__(self, patience: float = _PATIENCE) -> None:
        """patience: seconds that may pass without a byte."""
        self._patience = patience
        self._opener = urllib.request.build_opener(_Redirects(self._authorize))
        self._direct = urllib.request.build_opener(
            _Redirects(self._authorize), urllib.request.ProxyHandler({})
        )
        self._authorization: dict[tuple[str, str], str] = {}  # scheme and host -> header

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
            # The host that asks may be one that the registry redirects to.
            self._authorization[_origin(error.url)] = self._answer(error.challenge, error.url)
        if body is not None and not isinstance(body, bytes):
            body.seek(0)
        return self._send(url, method, headers or {}, body)

    def _authorize(self, request: urllib.request.Request) -> None:
        """Add the credentials of the host that a request goes to, and no others."""
        if authorization := self._authorization.get(_origin(request.full_url)):
            request.add_unredirected_header("Authorization", authorization)

    def _send(
        self,
        url: str,
        method: str,
        headers: Mapping[str, str],
        body: BinaryIO | bytes | None,
        login: str = "",
    ) -> http.client.HTTPResponse:
        _check_private(url)
        try:
            request = urllib.request.Request(url, method=method, headers=dict(headers), data=body)
            self._authorize(request)
            if login:
                request.add_unredirected_header("Authorization", f"Basic {login}")
            opener = self._direct if is_loopback(urlsplit(url).netloc) else self._opener
            answer: http.client.HTTPResponse = opener.open(request, timeout=self._patience)
        except urllib.error.HTTPError as error:
            with error:
                raise _refused(error) from error
        except (OSError, http.client.HTTPException) as error:  # URLError, too, is an OSError
            raise failed(error, self._patience) from error
        except ValueError as error:  # an address or a header that cannot be sent
            raise TransferError(f"it leads to no address ({error})") from error
        return answer

    def _answer(self, challenge: str, url: str) -> str:
        """The header that answers the challenge of `url` (RFC 6750, RFC 7617; token services)."""
        scheme, _, rest = challenge.partition(" ")
        host = urlsplit(url).netloc
        login = _login(host)
        if scheme.lower() == "basic" and login:
            return f"Basic {login}"
        fields = dict(re.findall(r'(?<!\w)(\w+)="([^"]*)"', rest))
        realm = fields.pop("realm", "")
        if scheme.lower() != "bearer" or not realm:
            raise TransferError(
                f"it wants a login. Run `docker login {host}`, or another that writes its file"
            )
        _check_private(realm, url)
        wanted = urlencode({key: fields[key] for key in ("service", "scope") if key in fields})
        token_url = f"{realm}{'&' if '?' in realm else '?'}{wanted}"
        try:
            with self._send(token_url, "GET", {}, None, login) as answer:
                content = _json(answer.read(_ANSWER))
        except (OSError, http.client.HTTPException) as error:
            raise failed(error, self._patience) from error
        token = content.get("token") or content.get("access_token")
        if not isinstance(token, str) or not _TOKEN.fullmatch(token):
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
    """Where an answer's Location leads. Raises TransferError where that is less private than `url`."""
    location = answer.headers.get("Location", "")
    if not location:
        raise TransferError("it does not say where to send a file")
    try:
        target = urljoin(url, location)
    except ValueError as error:
        raise TransferError(f"it leads to no address ({error})") from error
    _check_private(target, url)
    return target


def _origin(url: str) -> tuple[str, str]:
    """What credentials belong to: a scheme and a host with its port."""
    split = urlsplit(url)
    return split.scheme, split.netloc


def _check_private(url: str, before: str = "") -> None:
    """Raise TransferError unless nobody on the way reads along: it is encrypted, or stays on this machine.

    before: the address that leads there; what it has encrypted, nothing later has in the clear.
    """
    try:
        scheme, host = _origin(url)
        private = scheme == "https" or (
            scheme == "http" and is_loopback(host) and not before.startswith("https:")
        )
    except ValueError as error:
        raise TransferError(f"it leads to no address ({error})") from error
    if not private:
        raise TransferError(f"it leads to {url}, which is not encrypted")


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
    return TransferError(reason, error.code, error.code in _PASSING, challenge, error.url)


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
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
