"""Attacks: each ends in an error response or a closed connection."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import gzip
import hmac
import json
import platform
import re
import socket
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from serving import Answer, Server, ends_without_another_call
from sessions import Client, talk

from kokoro_tvm.serving import guard
from kokoro_tvm.serving.encoding.ffmpeg import OpusEncoder
from kokoro_tvm.web import page_files

PATHS = [
    "../../etc/passwd",
    "/etc/passwd",
    "file:///etc/passwd",
    "..\\..\\windows\\win.ini",
    "af_heart/../../../etc/passwd",
    "%2e%2e%2fetc%2fpasswd",
    "af_heart\0",
    "~/.bashrc",
    "voices.safetensors",
]
OUTSIDE = [
    "/../pyproject.toml",
    "/%2e%2e/pyproject.toml",
    "/..%2fpyproject.toml",
    "/%2e%2e%2fpyproject.toml",
    "/..%252fpyproject.toml",
    "/%c0%ae%c0%ae/pyproject.toml",
    "/page/../../serving/app.py",
    "/page/%2e%2e/%2e%2e/serving/app.py",
    "/page/..%2f..%2fserve%2fapp.py",
    "/page/..%5c..%5cserve%5capp.py",
    "/page/....//....//serving/app.py",
    "/page/app.js%00.html",
    "/page/",
    "/page",
    "//etc/passwd",
    "/%2fetc/passwd",
    "/file:///etc/passwd",
    "/bundle.json",
    "/README.md",
    "/.git/config",
]
LAUGHS = "".join(f"<!ENTITY a{n} '{f'&a{n - 1};' * 10}'>" for n in range(1, 10))
BOMBS = [
    f"<?xml version='1.0'?><!DOCTYPE speak [<!ENTITY a0 'ha'>{LAUGHS}]><speak>&a9;</speak>",
    "<!DOCTYPE speak [<!ENTITY x SYSTEM 'file:///etc/passwd'>]><speak>&x;</speak>",
    "<!DOCTYPE speak SYSTEM 'http://127.0.0.1:1/x.dtd'><speak>Ha.</speak>",
    "<speak>" + "<p>" * 20_000 + "Ha." + "</p>" * 20_000 + "</speak>",
    "<speak " + " ".join(f"a{n}='b'" for n in range(9_000)) + ">Ha.</speak>",
    "<speak>Ha." + "<break time='300s'/>" * 4_000 + "Ha.</speak>",
    "<speak>" + "<prosody rate='20%'>" * 60 + "Ha." + "</prosody>" * 60 + "</speak>",
    "<speak><break time='99999999999999999999h'/>Ha.</speak>",
    "<speak><![CDATA[" + "<" * 90_000,
    "<speak>" + "&#x0;" * 9_000 + "</speak>",
    "[pause:299s] Ha. " * 5_000,
    "[rate:0.000001] Ha.",
]  # fmt: skip


def refused(answer: Answer) -> Any:
    """Return the error of a refused request, and check that it reveals nothing about the machine."""
    assert 400 <= answer.status < 500, answer
    assert set(answer.error) == {"message", "type", "param", "code"}
    says_nothing_of_the_machine(answer)
    return answer.error


def says_nothing_of_the_machine(answer: Answer) -> None:
    sent = f"{dict(answer.headers)} {answer.body.decode('utf-8', 'replace')}".lower()
    names = (
        sys.prefix,
        str(Path.home()),
        str(Path(guard.__file__).parents[2]),
        platform.node(),
        "site-packages",
        "python/3",
        "uvicorn",
        "starlette",
        "traceback",
        "root:x",
    )
    for name in names:
        assert not re.search(rf"\b{re.escape(name.lower())}\b", sent), name


def trickle(server: Server, data: Iterator[bytes]) -> bytes:
    """Send bytes one after the other until the server closes the connection; return what it sent."""
    limit = time.monotonic() + 30  # only ends a test that fails
    received = b""
    with socket.create_connection(("127.0.0.1", server.port), timeout=0.01) as connection:
        for part in data:
            assert time.monotonic() < limit, "it waits for ever"
            try:
                connection.sendall(part)
                if not (more := connection.recv(1 << 16)):
                    return received
                received += more
            except TimeoutError:
                continue
            except ConnectionError:
                return received
    raise AssertionError("the server took all of it")


def test_connection_closes_after_a_slow_head(start: Callable[..., Server]) -> None:
    server = start(request_timeout_s=0.3)

    def head() -> Iterator[bytes]:
        yield b"POST /v1/audio/speech HTTP/1.1\r\nHost: 127.0.0.1\r\nX: "
        while True:
            yield b"a"

    assert trickle(server, head()) == b""
    assert server.speak("Ha.").status == 200


@pytest.mark.parametrize("chunk", [b"a", b"1\r\na\r\n"])
def test_connection_closes_after_a_slow_body(start: Callable[..., Server], chunk: bytes) -> None:
    server = start(request_timeout_s=0.3)
    length = b"Content-Length: 99999" if len(chunk) == 1 else b"Transfer-Encoding: chunked"

    def body() -> Iterator[bytes]:
        yield b"POST /v1/audio/speech HTTP/1.1\r\nHost: 127.0.0.1\r\n" + length + b"\r\n\r\n"
        while True:
            yield chunk

    assert trickle(server, body()).startswith(b"HTTP/1.1 408 ")
    assert server.speak("Ha.").status == 200


@pytest.mark.parametrize("literal", ["NaN", "Infinity", "-Infinity", "1e999", "-1e999", "9" * 5000])
@pytest.mark.parametrize("field", ["speed", "seed", "volume_multiplier"])
def test_speech_refuses_numbers_outside_json(server: Server, field: str, literal: str) -> None:
    refused(server.post("/v1/audio/speech", f'{{"input": "Ha.", "{field}": {literal}}}'.encode()))


@pytest.mark.parametrize(
    "name", ["a\r\nX-Evil: 1", "\r\n\r\n<script>", "a, b", "é", "\ud800", "\0", "__proto__", "a" * 9_000]
)
def test_unknown_field_names_inject_no_header(server: Server, name: str) -> None:
    answer = server.speak("Ha.", **{name: 1, "plain": 2}, **{f"x{n}": n for n in range(500)})
    assert answer.status == 200
    assert "x-evil" not in answer.headers
    shown = answer.headers["x-unknown-fields"]
    assert len(shown) <= 512
    assert shown.isascii()
    assert shown.isprintable()


@pytest.mark.parametrize("path", ["/v1/models/a%0d%0aX-Evil:%201", "/a%0d%0aX-Evil:%201", "/%0a%0d?a=%0d%0a"])
def test_paths_inject_no_header(server: Server, path: str) -> None:
    answer = server.get(path)
    refused(answer)
    assert "x-evil" not in answer.headers


@pytest.mark.parametrize("voice", PATHS)
def test_voice_names_are_never_paths(server: Server, voice: str) -> None:
    error = refused(server.speak("Ha.", voice=voice))
    assert "There is no voice" in error["message"]
    refused(server.speak("Ha.", voice={"id": voice}))
    refused(server.post("/v1/audio/voices/combine", {"voices": [voice, "af_heart"]}))
    refused(server.speak(f"<speak><voice name={json.dumps(voice)}>Ha.</voice></speak>"))
    assert server.speak("Ha.", model=voice).status == 200  # any other name stands for the first bundle


@pytest.mark.parametrize("path", OUTSIDE)
def test_page_routes_send_no_other_file(server: Server, path: str) -> None:
    refused(server.get(path))
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as connection:
        connection.sendall(
            f"GET http://a{path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n".encode()
        )
        assert connection.makefile("rb").read().split()[1] in (b"400", b"404")


def test_page_files_are_no_links() -> None:
    assert all(not path.is_symlink() for path in page_files())


@pytest.mark.parametrize("bomb", BOMBS, ids=range(len(BOMBS)))
def test_speech_bounds_expanding_texts(server: Server, bomb: str) -> None:
    """Each is refused; the shorter ones that are not last as long as they may."""
    answer = server.speak(bomb, response_format="wav")
    if answer.status == 200:
        assert len(answer.body) < 2 * 24_000 * 60
    else:
        refused(answer)


def test_compressed_bodies_are_not_unpacked(server: Server) -> None:
    packed = gzip.compress(json.dumps({"input": "a" * 10_000_000}).encode())
    assert len(packed) < 1 << 20
    error = refused(server.post("/v1/audio/speech", packed, {"Content-Encoding": "gzip"}))
    assert error["code"] == "invalid_json"


@pytest.mark.parametrize("key", ["one", "three", "", "o", "one" * 1000, "oné"])
def test_keys_are_compared_in_constant_time(
    start: Callable[..., Server], monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    """All keys are compared, by digests of equal length."""
    compared: list[tuple[int, int]] = []
    constant = hmac.compare_digest

    def compare(given: bytes, known: bytes) -> bool:
        compared.append((len(given), len(known)))
        return constant(given, known)

    server = start(api_key=("one", "two"), priority_key=("first",))
    monkeypatch.setattr(hmac, "compare_digest", compare)
    answer = server.get("/v1/models", {"Authorization": f"Bearer {key}"})
    assert answer.status == (200 if key == "one" else 401)
    assert compared == [(32, 32)] * 3


def test_responses_reveal_nothing_about_the_machine(start: Callable[..., Server]) -> None:
    server = start(api_key=("one",))
    key = {"Authorization": "Bearer one"}
    for method in ("GET", "POST", "PUT", "DELETE", "PATCH", "TRACE", "CONNECT", "OPTIONS", "EVIL"):
        for path in ("/", "/v1/audio/speech", "/v1/models", "/health", "/ready", "/none", "/metrics"):
            for headers in (key, {}):
                answer = server.request(method, path, b"", headers)
                if "text/html" not in answer.headers.get("content-type", ""):
                    says_nothing_of_the_machine(answer)
                assert not {"server", "x-powered-by"} & set(answer.headers)
    server.runner.fail_after(0)
    answer = server.post("/v1/audio/speech", {"input": "Ha."}, key)
    assert answer.status == 500
    says_nothing_of_the_machine(answer)


def test_missing_library_error_has_no_path(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = ImportError(f"cannot import name 'a' ({sys.prefix}/lib/python3/site-packages/av/__init__.py)")
    monkeypatch.setattr(OpusEncoder, "problem", lambda: problem)
    error = refused(server.speak("Ha.", response_format="opus"))
    assert "kokoro-tvm[av]" in error["message"]


def test_session_ends_with_an_aborted_connection(
    start: Callable[..., Server], caplog: pytest.LogCaptureFixture
) -> None:
    server = start()
    server.runner.close_after(0)

    async def conversation(client: Client) -> None:
        await client.say("Ha.")
        await client.send("input_text.end")
        await asyncio.to_thread(server.runner.waiting.acquire)
        client.socket._response.connection.transport.abort()  # type: ignore[union-attr]

    talk(server, conversation)
    ends_without_another_call(server)
    gc.collect()
    assert not [record for record in caplog.records if record.levelname == "ERROR"]


def test_responses_are_complete_during_partial_requests(start: Callable[..., Server]) -> None:
    """Connections that stop at every place of a request, while another is spoken to."""
    server = start(request_timeout_s=0.3)
    data = b'POST /v1/audio/speech HTTP/1.1\r\nHost: a\r\nContent-Length: 20\r\n\r\n{"input": "Ha. Ha."}'
    alone = server.speak("Ha. Ha.").body
    with contextlib.ExitStack() as stack:
        for length in range(0, len(data), 5):
            connection = stack.enter_context(socket.create_connection(("127.0.0.1", server.port)))
            connection.sendall(data[:length])
        assert server.speak("Ha. Ha.").body == alone
    assert server.speak("Ha. Ha.").body == alone
