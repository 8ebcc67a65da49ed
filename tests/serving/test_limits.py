"""Keys, bounds, slow clients and silent connections, over a socket."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator

import aiohttp
import pytest
from serving import LONG, Server, serving, wait_for
from sessions import address

HEAD = b"POST /v1/audio/speech HTTP/1.1\r\nHost: 127.0.0.1\r\n"


def raw(server: Server) -> socket.socket:
    return socket.create_connection(("127.0.0.1", server.port), timeout=30)


def everything(connection: socket.socket) -> bytes:
    """Read until the server closes the connection."""
    parts = []
    with contextlib.suppress(ConnectionError):
        while part := connection.recv(1 << 16):
            parts.append(part)
    return b"".join(parts)


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("guarded") / "toy"
    with serving(
        folder, api_key=("one", "two"), priority_key=("first",), cors=("https://a.example",)
    ) as running:
        yield running


@pytest.mark.parametrize("key", ["one", "two", "first"])
def test_valid_keys_are_accepted(guarded: Server, key: str) -> None:
    assert guarded.get("/v1/models", {"Authorization": f"Bearer {key}"}).status == 200


@pytest.mark.parametrize("header", [None, "Bearer", "Bearer three", "Basic one", "Bearer oné", "one"])
def test_invalid_keys_are_refused(guarded: Server, header: str | None) -> None:
    for path in ("/v1/models", "/metrics", "/dev/phonemize"):
        answer = guarded.get(path, {"Authorization": header} if header else {})
        assert answer.status == 401
        assert answer.error["code"] == "invalid_api_key"
    assert guarded.get("/health").status == 200


def test_priority_key_raises_the_priority(guarded: Server) -> None:
    body = json.dumps({"input": LONG, "response_format": "pcm"})
    guarded.runner.close_after(0)
    connections = [guarded.connect() for _ in range(2)]
    for connection, key in zip(connections, ("one", "first"), strict=True):
        connection.request("POST", "/v1/audio/speech", body, {"Authorization": f"Bearer {key}"})
    guarded.runner.waiting.acquire()
    jobs = guarded.service.scheduler.jobs
    wait_for(lambda: len(jobs) == 2)
    assert sorted(job.urgency[0] for job in jobs) == [-1, 0]
    guarded.runner.gate.set()
    for connection in connections:
        assert connection.getresponse().read()
        connection.close()


def test_cors_allows_the_configured_origin(guarded: Server) -> None:
    asked = {"Origin": "https://a.example", "Access-Control-Request-Method": "POST"}
    answer = guarded.request("OPTIONS", "/v1/audio/speech", headers=asked)
    assert answer.headers["access-control-allow-origin"] == "https://a.example"
    refused = guarded.get("/v1/models", {"Origin": "https://a.example"})
    assert refused.status == 401
    assert refused.headers["access-control-allow-origin"] == "https://a.example"
    other = guarded.get("/health", {"Origin": "https://b.example"})
    assert "access-control-allow-origin" not in other.headers


def test_too_large_body_is_refused(start: Callable[..., Server]) -> None:
    server = start(max_body_bytes=1000)
    answer = server.post("/v1/audio/speech", {"input": "a" * 2000})
    assert (answer.status, answer.error["code"]) == (413, "body_too_large")
    with raw(server) as connection:  # without saying how long it is
        connection.sendall(HEAD + b"Transfer-Encoding: chunked\r\n\r\n")
        for _ in range(11):
            connection.sendall(b"64\r\n" + b"a" * 100 + b"\r\n")
        assert b" 413 " in everything(connection)
    assert server.speak("Ha.").status == 200


@pytest.mark.parametrize(("size", "start_of_answer"), [(1500, b"HTTP/1.1 200"), (4000, b"HTTP/1.1 400")])
def test_head_of_a_request_is_bounded(
    start: Callable[..., Server], size: int, start_of_answer: bytes
) -> None:
    server = start(max_head_bytes=2000)
    with raw(server) as connection:
        connection.sendall(b"GET /health HTTP/1.1\r\nHost: a\r\nConnection: close\r\nX: " + b"a" * size)
        if size == 1500:
            connection.sendall(b"\r\n\r\n")
        assert everything(connection).startswith(start_of_answer)


def test_session_closes_after_a_too_long_message(start: Callable[..., Server]) -> None:
    server = start(max_message_bytes=2000)

    async def answers(size: int) -> list[aiohttp.WSMessage]:
        async with aiohttp.ClientSession() as http, http.ws_connect(address(server)) as socket:
            await socket.send_str(json.dumps({"type": "input_text.append", "text": "a" * size}))
            await socket.send_str(json.dumps({"type": "nothing"}))
            return [await socket.receive(timeout=30) for _ in range(2)]

    assert asyncio.run(answers(1000))[1].type is aiohttp.WSMsgType.TEXT
    assert asyncio.run(answers(4000))[1].data == 1009


@pytest.mark.parametrize("data", [b" " * 5000, b'{"type": "ping", "data_length": 2001}\n'])
def test_wyoming_refuses_a_too_large_event(start: Callable[..., Server], data: bytes) -> None:
    server = start(wyoming_port=0, max_body_bytes=2000)
    with socket.create_connection(("127.0.0.1", server.wyoming.port), timeout=30) as connection:
        connection.sendall(data)
        assert b"2000" in everything(connection)


def test_wyoming_refuses_too_many_clients(start: Callable[..., Server]) -> None:
    server = start(wyoming_port=0, max_sessions=1)
    place = ("127.0.0.1", server.wyoming.port)
    with socket.create_connection(place), socket.create_connection(place, timeout=30) as second:
        assert b"1 clients are connected, which is the most" in everything(second)


@pytest.mark.parametrize(("said", "before"), [(b"", False), (b"GET /hea", False), (b"GET /hea", True)])
def test_silent_connection_is_closed(start: Callable[..., Server], said: bytes, before: bool) -> None:
    """before: whether it has sent a request already."""
    server = start(request_timeout_s=0.2)
    with raw(server) as connection:
        if before:
            connection.sendall(b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            assert connection.recv(1 << 16).startswith(b"HTTP/1.1 200")
        connection.sendall(said)
        assert b"200" not in everything(connection)


def test_connections_above_the_limit_are_closed(start: Callable[..., Server]) -> None:
    server = start(max_connections=3)
    with contextlib.ExitStack() as stack:
        for _ in range(3):
            stack.enter_context(raw(server)).sendall(HEAD)
        wait_for(lambda: _closed_at_once(server))
    wait_for(lambda: server.get("/health").status == 200)


def _closed_at_once(server: Server) -> bool:
    with raw(server) as connection:
        return everything(connection) == b""


def test_client_without_reads_is_disconnected(start: Callable[..., Server]) -> None:
    server = start(write_timeout_s=0.2, audio_buffer_s=1.0)
    with raw(server) as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        text = "[pause:250s] Ha. " * 20
        body = json.dumps({"input": text, "response_format": "pcm"}).encode()
        connection.sendall(HEAD + b"Content-Length: %d\r\n\r\n" % len(body) + body)
        wait_for(lambda: server.service.scheduler.jobs)
        wait_for(lambda: not server.service.scheduler.jobs)


@pytest.mark.parametrize(
    "said",
    [
        b"\x16\x03\x01\x02\x00\x01\x00",
        b"GET /\x00 HTTP/1.1\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: x\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
    ],
)
def test_invalid_http_is_refused(server: Server, said: bytes) -> None:
    with raw(server) as connection:
        connection.sendall(said)
        assert everything(connection).startswith(b"HTTP/1.1 400 ")


def test_requests_above_the_limit_are_refused(start: Callable[..., Server]) -> None:
    server = start(max_requests=1)
    server.runner.close_after(0)
    with raw(server) as connection:
        body = json.dumps({"input": "Ha."}).encode()
        connection.sendall(HEAD + b"Content-Length: %d\r\n\r\n" % len(body) + body)
        server.runner.waiting.acquire()
        answer = server.speak("Ha.")
        assert (answer.status, answer.error["type"]) == (429, "rate_limit_error")
        assert int(answer.headers["retry-after"]) >= 1
        assert server.get("/ready").status == 503
    wait_for(lambda: next(iter(server.service.scheduler.jobs)).cancelled)
    server.runner.gate.set()
    wait_for(lambda: server.get("/ready").status == 200)


@pytest.mark.parametrize(
    ("soft", "hard", "possible"), [(256, 256, 128), (256, 1024, 512), (256, 1536, 1000), (4096, 4096, 1000)]
)
def test_limit_connections_respects_the_file_limit(soft: int, hard: int, possible: int) -> None:
    """The soft limit is raised up to the hard one."""
    resource = pytest.importorskip("resource")
    if resource.getrlimit(resource.RLIMIT_NOFILE)[1] < hard:
        pytest.skip(f"this process may not open {hard} files")
    code = f"""
import resource
resource.setrlimit(resource.RLIMIT_NOFILE, ({soft}, {hard}))
from kokoro_tvm.serving.connections import limit_connections
print(limit_connections(1000))
"""
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, encoding="utf-8", check=True)
    assert int(result.stdout) == possible
    assert ("fewer connections" in result.stderr) == (possible < 1000)


@pytest.mark.nightly
def test_ten_thousand_silent_connections_are_closed(start: Callable[..., Server]) -> None:
    """Another is spoken to meanwhile, and all are closed in the end."""
    resource = pytest.importorskip("resource")
    if resource.getrlimit(resource.RLIMIT_NOFILE)[1] < 11_000:
        pytest.skip("this process may not open 11,000 files")
    server = start(request_timeout_s=60.0, max_connections=10_100)
    command = [sys.executable, "-m", "silent_connections", str(server.port), "10000"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, encoding="utf-8") as clients:
        assert clients.stdout is not None
        assert clients.stdout.readline() == "10000 open\n"
        assert server.speak(LONG).status == 200
        assert clients.stdout.readline() == "10000 closed without a word\n"
    assert server.speak("Ha.").status == 200
