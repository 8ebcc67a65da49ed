"""Credentials: two hosts in this process record the requests that they receive."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from kokoro_tvm.runtime.registry import web
from kokoro_tvm.runtime.registry.web import TransferError, Web, next_url

LOGIN = "bWU6c2VjcmV0"
Answer = tuple[int, dict[str, str], bytes]


@dataclass
class Host:
    """A server that records the authorizations it receives."""

    answer: Callable[[str, str], Answer] = lambda path, authorization: (200, {}, b"{}")
    name: str = ""
    authorizations: list[str] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)


@contextmanager
def serve(host: Host) -> Iterator[Host]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            authorization = self.headers.get("Authorization", "")
            host.paths.append(f"{self.command} {self.path}")
            if authorization:
                host.authorizations.append(authorization)
            status, headers, content = host.answer(self.path, authorization)
            self.send_response(status)
            for name, value in {"Content-Length": str(len(content)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

        do_POST = do_PUT = do_GET  # noqa: N815

        def log_message(self, format: str, *args: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        host.name = f"127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield host
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture
def hosts() -> Iterator[tuple[Host, Host]]:
    """The registry of the user's login, and another host."""
    with ExitStack() as stack:
        yield stack.enter_context(serve(Host())), stack.enter_context(serve(Host()))


@pytest.fixture(autouse=True)
def logged_in(hosts: tuple[Host, Host], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    auths = {"auths": {hosts[0].name: {"auth": LOGIN}, "registry.example": {"auth": LOGIN}}}
    (tmp_path / "config.json").write_text(json.dumps(auths))
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))


def redirect(target: Host) -> Callable[[str, str], Answer]:
    return lambda path, authorization: (307, {"Location": f"http://{target.name}{path}"}, b"")


def demand_token(realm: Host) -> Callable[[str, str], Answer]:
    """Demand a token of `realm`, and issue one there."""

    def answer(path: str, authorization: str) -> Answer:
        if path.startswith("/token"):
            return 200, {}, json.dumps({"token": "granted"}).encode()
        if authorization == "Bearer granted":
            return 200, {}, b"content"
        return 401, {"WWW-Authenticate": f'Bearer realm="http://{realm.name}/token",service="x"'}, b""

    return answer


@pytest.mark.parametrize("scheme", ["Bearer", "Basic"])
def test_web_sends_no_login_to_a_redirected_host(scheme: str, hosts: tuple[Host, Host]) -> None:
    registry, other = hosts
    registry.answer = redirect(other)
    challenge = f'{scheme} realm="http://{other.name}/token"'
    other.answer = lambda path, authorization: (
        (200, {}, b'{"token": "t"}')
        if path.startswith("/token")
        else (401, {"WWW-Authenticate": challenge}, b"")
    )
    with pytest.raises(TransferError):
        Web().open(f"http://{registry.name}/v2/blob")
    assert not [sent for sent in other.authorizations if LOGIN in sent]


def test_web_drops_a_token_on_redirect_to_another_host(hosts: tuple[Host, Host]) -> None:
    registry, other = hosts
    grant = demand_token(registry)
    registry.answer = lambda path, authorization: (
        redirect(other)(path, authorization)
        if authorization == "Bearer granted" and path == "/v2/blob"
        else grant(path, authorization)
    )
    with Web().open(f"http://{registry.name}/v2/blob") as answer:
        assert answer.status == 200
    assert registry.authorizations == [f"Basic {LOGIN}", "Bearer granted"]
    assert (other.paths, other.authorizations) == (["GET /v2/blob"], [])


def test_web_keeps_a_token_on_redirect_to_the_same_host(hosts: tuple[Host, Host]) -> None:
    registry, _ = hosts
    grant = demand_token(registry)
    registry.answer = lambda path, authorization: (
        redirect(registry)("/moved", authorization) if path == "/v2/blob" else grant(path, authorization)
    )
    with Web().open(f"http://{registry.name}/v2/blob") as answer:
        assert answer.read() == b"content"


def test_web_sends_the_login_to_the_token_service(hosts: tuple[Host, Host]) -> None:
    """Registries with a token service on another host: Docker Hub, GitLab."""
    registry, service = hosts
    registry.answer = demand_token(service)
    service.answer = demand_token(service)
    with Web().open(f"http://{registry.name}/v2/blob") as answer:
        assert answer.read() == b"content"
    assert service.authorizations == [f"Basic {LOGIN}"]


@pytest.mark.parametrize(
    "location",
    [
        "http://registry.example/upload",  # the same host, in the clear
        "http://127.0.0.1:9/upload",  # this machine: still a downgrade
        "HTTP://registry.example/upload",
        "ftp://registry.example/upload",
        "file:///etc/passwd",
        "//[",
    ],
)
def test_next_url_keeps_encryption(location: str) -> None:
    class Located:
        headers = {"Location": location}  # noqa: RUF012

    with pytest.raises(TransferError):
        next_url("https://registry.example/v2/x/blobs/uploads/", Located())  # type: ignore[arg-type]


def test_web_refuses_a_redirect_to_http(hosts: tuple[Host, Host]) -> None:
    registry, _ = hosts
    opened = web._Redirects(lambda request: None)
    request = web.urllib.request.Request("https://registry.example/v2/")
    with pytest.raises(TransferError, match="not encrypted"):
        opened.redirect_request(request, None, 307, "", {}, f"http://{registry.name}/v2/")


def test_web_sends_no_login_to_http_after_https(
    hosts: tuple[Host, Host],
) -> None:
    _, other = hosts
    with pytest.raises(TransferError):
        Web()._authenticate(f'Bearer realm="http://{other.name}/token"', "https://registry.example/v2/")
    assert other.paths == []


def test_web_refuses_http() -> None:
    with pytest.raises(TransferError, match="not encrypted"):
        Web().open("http://registry.example/v2/")


@pytest.mark.parametrize(
    "token", [b"[" * 60_000, b'{"token": "a\\nb"}', b'{"token": "\\ud800"}', b'{"token": {}}', b"9" * 5000]
)
def test_web_refuses_a_damaged_token(token: bytes, hosts: tuple[Host, Host]) -> None:
    registry, _ = hosts
    grant = demand_token(registry)
    registry.answer = lambda path, authorization: (
        (200, {}, token) if path.startswith("/token") else grant(path, authorization)
    )
    with pytest.raises(TransferError):
        Web().open(f"http://{registry.name}/v2/blob")


@pytest.mark.parametrize("location", ["http://[", "http://127.0.0.1:x/", "http://[::1/"])
def test_web_refuses_a_redirect_to_no_address(location: str, hosts: tuple[Host, Host]) -> None:
    registry, _ = hosts
    registry.answer = lambda path, authorization: (307, {"Location": location}, b"")
    with pytest.raises(TransferError):
        Web().open(f"http://{registry.name}/v2/blob")
