"""HTTP requests to registries and web servers, with their authentication."""

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

_IDLE_TIMEOUT_S = 30.0
_MAX_RESPONSE_BYTES = 1 << 16  # of an error or a token
_TOKEN = re.compile(r"[!-~]+")
_MAX_MESSAGE = 300  # characters of an error
_TEMPORARY_STATUSES = frozenset({408, 425, 429, 500, 502, 503, 504})
_PARAMETER = re.compile(r'(?<!\w)(\w{1,64})="([^"]*)"')


class TransferError(Exception):
    """A failed request.

    Attributes:
        status: of HTTP, 0 without a response.
        is_temporary: whether another try may succeed.
        challenge: the authentication that the server at `url` demands, "" for none.
        url: of the server that refused, "" if none did.
    """

    def __init__(
        self, reason: str, status: int = 0, is_temporary: bool = False, challenge: str = "", url: str = ""
    ) -> None:
        super().__init__(reason)
        self.url = url
        self.status = status
        self.is_temporary = is_temporary
        self.challenge = challenge


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follows redirects that keep encryption; every host gets its own credentials alone."""

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
    """An HTTP client with the token authentication of registries, for the user of `docker login`."""

    def __init__(self, idle_timeout_s: float = _IDLE_TIMEOUT_S) -> None:
        """Create a client that fails after so many seconds without a byte."""
        self._idle_timeout_s = idle_timeout_s
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
        """Return the response to a request.

        Args:
            url: https, or http to this machine.
            method: of HTTP.
            headers: a file as body needs a Content-Length.
            body: bytes, or a file, which is sent from its position.

        Raises:
            TransferError: the request failed, or its status is no success.
        """
        try:
            return self._send(url, method, headers or {}, body)
        except TransferError as error:
            if error.status != 401 or not error.challenge:
                raise
            # A redirect may lead to another host, which demands its own.
            self._authorization[_origin(error.url)] = self._authenticate(error.challenge, error.url)
        if body is not None and not isinstance(body, bytes):
            body.seek(0)
        return self._send(url, method, headers or {}, body)

    def _authorize(self, request: urllib.request.Request) -> None:
        """Add the credentials of a request's host."""
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
            response: http.client.HTTPResponse = opener.open(request, timeout=self._idle_timeout_s)
        except urllib.error.HTTPError as error:
            with error:
                raise _refusal(error) from error
        except (OSError, http.client.HTTPException) as error:  # URLError, too, is an OSError
            raise transfer_error(error, self._idle_timeout_s) from error
        except ValueError as error:  # a URL or a header that cannot be sent
            raise TransferError(f"it leads to no valid URL ({error})") from error
        return response

    def _authenticate(self, challenge: str, url: str) -> str:
        """Return the Authorization header for a challenge (RFC 6750, RFC 7617, token services)."""
        scheme, _, rest = challenge.partition(" ")
        host = urlsplit(url).netloc
        login = _login(host)
        if scheme.lower() == "basic" and login:
            return f"Basic {login}"
        fields = dict(_PARAMETER.findall(rest))
        realm = fields.pop("realm", "")
        if scheme.lower() != "bearer" or not realm:
            raise TransferError(
                f"it demands a login. Run `docker login {host}`, or another program that writes its file"
            )
        _check_private(realm, url)
        query = urlencode({key: fields[key] for key in ("service", "scope") if key in fields})
        token_url = f"{realm}{'&' if '?' in realm else '?'}{query}"
        try:
            with self._send(token_url, "GET", {}, None, login) as response:
                content = _parse_json(response.read(_MAX_RESPONSE_BYTES))
        except (OSError, http.client.HTTPException) as error:
            raise transfer_error(error, self._idle_timeout_s) from error
        token = content.get("token") or content.get("access_token")
        if not isinstance(token, str) or not _TOKEN.fullmatch(token):
            raise TransferError(f"{realm} returns no token")
        return f"Bearer {token}"


def transfer_error(
    error: OSError | http.client.HTTPException, idle_timeout_s: float = _IDLE_TIMEOUT_S
) -> TransferError:
    """Describe a connection that could not be opened, or broke."""
    cause = error.reason if isinstance(error, urllib.error.URLError) else error
    if isinstance(cause, TimeoutError):
        return TransferError(f"it sent nothing for {idle_timeout_s:g} s", is_temporary=True)
    if isinstance(cause, http.client.HTTPException):
        return TransferError("it broke off its response", is_temporary=True)
    reason = getattr(cause, "strerror", None) or getattr(cause, "reason", None) or cause
    return TransferError(str(reason), is_temporary=isinstance(cause, ConnectionError))


def next_url(url: str, response: http.client.HTTPResponse) -> str:
    """Return the URL of a response's Location; raises TransferError if it is less private than `url`."""
    location = response.headers.get("Location", "")
    if not location:
        raise TransferError("it does not say where to send a file")
    try:
        target = urljoin(url, location)
    except ValueError as error:
        raise TransferError(f"it leads to no valid URL ({error})") from error
    _check_private(target, url)
    return target


def _origin(url: str) -> tuple[str, str]:
    """Return the scheme and the host with its port, to which credentials belong."""
    split = urlsplit(url)
    return split.scheme, split.netloc


def _check_private(url: str, before: str = "") -> None:
    """Check that a URL is encrypted or on this machine; raises TransferError.

    `before` is the URL that leads there: after an encrypted one, none may be in the clear.
    """
    try:
        scheme, host = _origin(url)
        private = scheme == "https" or (
            scheme == "http" and is_loopback(host) and not before.startswith("https:")
        )
    except ValueError as error:
        raise TransferError(f"it leads to no valid URL ({error})") from error
    if not private:
        raise TransferError(f"it leads to {url}, which is not encrypted")


def _refusal(error: urllib.error.HTTPError) -> TransferError:
    """Return the registry's own message if it sends one as JSON, else the status."""
    try:
        errors = _parse_json(error.read(_MAX_RESPONSE_BYTES)).get("errors")
        message = errors[0].get("message") if isinstance(errors, list) and errors else None
    except (OSError, http.client.HTTPException, AttributeError):  # no message: the status is shown
        message = None
    text = f", {message}" if isinstance(message, str) else f" {error.reason}".rstrip()
    reason = f"status {error.code}" + "".join(c if c.isprintable() else "?" for c in text[:_MAX_MESSAGE])
    challenge = error.headers.get("WWW-Authenticate", "")
    return TransferError(reason, error.code, error.code in _TEMPORARY_STATUSES, challenge, error.url)


def _login(host: str) -> str:
    """Return the Basic credentials that `docker login` or a similar program wrote for a host, or ""."""
    folder = os.environ.get("DOCKER_CONFIG") or Path.home() / ".docker"
    path = Path(folder, "config.json")
    config = _parse_json(path.read_bytes()) if path.is_file() else {}
    logins = config.get("auths")
    entry = logins.get(host) if isinstance(logins, dict) else None
    credentials = entry.get("auth") if isinstance(entry, dict) else None
    return credentials if isinstance(credentials, str) else ""


def _parse_json(content: bytes) -> dict[str, Any]:
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
