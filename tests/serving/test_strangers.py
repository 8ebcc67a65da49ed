"""Input of strangers: bounded memory, cancelled work, and no server errors."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import gc
import json
import logging
import select
import socket
import struct
import threading
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from serving import Server, serving, wait_for
from sessions import address

from kokoro_tvm.runtime.bundle.voices import MOST_VOICES
from kokoro_tvm.serving.connections import log_loop_errors
from kokoro_tvm.serving.errors import describe_error
from kokoro_tvm.serving.logs import JsonLines
from kokoro_tvm.serving.wyoming.events import BLOCK, Event, encode

MANY = "+".join(["af_heart"] * (MOST_VOICES + 1))
HANDSHAKE = (
    b"GET /v1/audio/speech/stream HTTP/1.1\r\nHost: 127.0.0.1\r\n"
    b"Connection: Upgrade\r\nUpgrade: websocket\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
)
COMPUTED = (
    ("/dev/phonemize", {"text": "Ha. " * 100}),
    ("/dev/ssml", {"text": "<speak>Ha.</speak>"}),
    ("/v1/audio/voices/combine", {"voices": "af_heart+am_adam"}),
)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("served") / "toy", wyoming_port=0) as running:
        yield running


def wyoming_answer(server: Server, data: bytes) -> bytes:
    """Send data to Wyoming, close the sending side, and return what the server sent."""
    parts = []
    place = ("127.0.0.1", server.wyoming.port)
    with socket.create_connection(place, timeout=30) as connection, contextlib.suppress(ConnectionError):
        connection.sendall(data)
        connection.shutdown(socket.SHUT_WR)
        while part := connection.recv(1 << 16):
            parts.append(part)
    return b"".join(parts)


@pytest.mark.parametrize(("path", "body"), COMPUTED)
def test_computations_count_as_requests(
    start: Callable[..., Server], path: str, body: dict[str, str]
) -> None:
    server = start(max_requests=1)
    server.runner.close_after(0)
    with contextlib.closing(server.connect()) as speech:
        speech.request("POST", "/v1/audio/speech", json.dumps({"input": "Ha."}))
        assert server.runner.waiting.acquire(timeout=30)
        assert server.post(path, body).status == 429
        server.runner.gate.set()
        assert speech.getresponse().read()
    wait_for(lambda: not server.service.scheduler.jobs)
    assert server.post(path, body).status == 200


def test_computations_leave_half_of_the_places_to_speech(start: Callable[..., Server]) -> None:
    server = start(max_requests=4)
    server.runner.close_after(0)
    with contextlib.ExitStack() as stack:
        speech = stack.enter_context(contextlib.closing(server.connect()))
        speech.request("POST", "/v1/audio/speech", json.dumps({"input": "Ha."}))
        assert server.runner.waiting.acquire(timeout=30)
        for _ in range(2):
            other = stack.enter_context(contextlib.closing(server.connect()))
            other.request("POST", "/dev/phonemize", json.dumps({"text": "Ha."}))
        wait_for(lambda: len(server.service.scheduler.jobs) == 3)
        assert server.post("/dev/phonemize", {"text": "Ha."}).status == 429
        server.runner.gate.set()
        assert server.speak("Ha.").status == 200


@pytest.mark.parametrize(("path", "body"), COMPUTED)
def test_computations_are_cancelled_with_their_client(
    start: Callable[..., Server], path: str, body: dict[str, str]
) -> None:
    server = start()
    server.runner.close_after(0)
    with contextlib.closing(server.connect()) as speech:
        speech.request("POST", "/v1/audio/speech", json.dumps({"input": "Ha."}))
        assert server.runner.waiting.acquire(timeout=30)
        with contextlib.closing(server.connect()) as other:
            other.request("POST", path, json.dumps(body))
            wait_for(lambda: len(server.service.scheduler.jobs) == 2)
        wait_for(lambda: len(server.service.scheduler.jobs) == 1)
        server.runner.gate.set()
        assert speech.getresponse().read()


@pytest.mark.parametrize(
    "path", ["/v1/audio/speech", "/dev/captioned_speech", *(path for path, _ in COMPUTED)]
)
def test_full_queue_refuses_requests_before_their_bodies(start: Callable[..., Server], path: str) -> None:
    server = start(max_requests=1)
    server.runner.close_after(0)
    body = b" " * 200_000
    with contextlib.ExitStack() as stack:
        speech = stack.enter_context(contextlib.closing(server.connect()))
        speech.request("POST", "/v1/audio/speech", json.dumps({"input": "Ha."}))
        assert server.runner.waiting.acquire(timeout=30)
        refused = stack.enter_context(contextlib.closing(server.connect()))
        refused.putrequest("POST", path)
        refused.putheader("Content-Length", str(len(body)))
        refused.endheaders()  # and no body yet
        answer = refused.getresponse()
        assert answer.status == 429
        assert int(answer.headers["Retry-After"]) >= 1
        answer.read()
        refused.sock.sendall(body)  # is thrown away, and the connection stays
        refused.request("GET", "/health")
        assert refused.getresponse().status == 200
        server.runner.gate.set()
        assert speech.getresponse().read()


def test_session_closes_inside_a_too_long_message(start: Callable[..., Server]) -> None:
    """Sessions hold `max_sessions` messages together, complete or not."""
    server = start(max_message_bytes=7_000)
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as session:
        session.sendall(HANDSHAKE)
        received = b""
        while b"session.created" not in received or not received.endswith(b"}}"):
            received += session.recv(1 << 16)
        # The first 8,000 bytes of a message of 9,000.
        session.sendall(b"\x81\xfe" + struct.pack("!HI", 9_000, 0) + b" " * 8_000)
        assert struct.pack("!H", 1009) in session.recv(1 << 16)


def test_wyoming_bounds_the_events_of_all_clients(start: Callable[..., Server]) -> None:
    server = start(max_requests=8, max_body_bytes=80_000, wyoming_port=0)
    place = ("127.0.0.1", server.wyoming.port)
    with contextlib.ExitStack() as stack:
        clients = [stack.enter_context(socket.create_connection(place, timeout=30)) for _ in range(3)]
        for client in clients:  # each holds a block of 64 KiB of an event that is not complete
            client.sendall(b'{"type": "ping", "data_length": 79999}\n' + b" " * BLOCK)
        wait_for(lambda: server.wyoming._budget.total > 9 * BLOCK)
        small = stack.enter_context(socket.create_connection(place, timeout=30))
        small.sendall(encode(Event("ping", {"text": "a" * 5_000})))
        assert b"pong" in small.recv(1 << 16)
        (dropped,) = select.select(clients, [], [], 30)[0]
        with contextlib.suppress(ConnectionResetError):
            assert dropped.recv(1) == b""


def test_bodies_are_bounded_together(start: Callable[..., Server]) -> None:
    server = start(max_requests=2, max_body_bytes=2000)
    head = b"POST /dev/ssml HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1900\r\n\r\n" + b" " * 1899
    with contextlib.ExitStack() as stack:
        for _ in range(2):
            stack.enter_context(socket.create_connection(("127.0.0.1", server.port))).sendall(head)
        wait_for(lambda: server.post("/dev/ssml", {"text": "a" * 1000}).status == 429)
    wait_for(lambda: server.post("/dev/ssml", {"text": "a" * 1000}).status == 200)


@pytest.mark.parametrize("path", ["/v1/audio/speech", "/dev/captioned_speech"])
def test_http_refuses_a_mix_of_many_voices(server: Server, path: str) -> None:
    for body in (
        {"input": "Ha.", "voice": MANY},
        {"input": f"[voice:{MANY}] Ha."},
        {"input": f"<speak><voice name='{MANY}'>Ha.</voice></speak>"},
    ):
        answer = server.post(path, body)
        assert answer.status == 400
        assert "16 voices" in answer.error["message"]
    for wanted in (MANY, ["af_heart"] * 17):
        assert server.post("/v1/audio/voices/combine", {"voices": wanted}).status == 400


def test_wyoming_refuses_a_mix_of_many_voices(server: Server) -> None:
    place = ("127.0.0.1", server.wyoming.port)
    with socket.create_connection(place, timeout=30) as connection:
        connection.sendall(encode(Event("synthesize", {"text": "Ha.", "voice": {"name": MANY}})))
        connection.settimeout(30)
        assert b"16 voices" in connection.makefile("rb").read()  # the server ends the connection


def test_websocket_refuses_a_mix_of_many_voices(server: Server) -> None:
    async def refusal() -> str:
        async with aiohttp.ClientSession() as http, http.ws_connect(address(server)) as socket:
            await socket.send_json({"type": "input_text.append", "text": f"[voice:{MANY}] Ha."})
            await socket.send_json({"type": "input_text.end"})
            while (event := await socket.receive_json(timeout=30))["type"] != "error":
                pass
            return str(event["error"]["message"])

    assert "16 voices" in asyncio.run(refusal())


@pytest.mark.parametrize(
    "host", ["evil.com", "evil.com:8880", "127.0.0.1.evil.com", "[", "evil.com.", "1.2.3"]
)
def test_foreign_hosts_are_refused(server: Server, host: str) -> None:
    """A page whose name points at this machine sends it (DNS rebinding)."""
    for path in ("/v1/models", "/", "/health"):
        answer = server.get(path, {"Host": host, "Origin": f"http://{host}"})
        assert (answer.status, answer.error["code"]) == (403, "host_not_allowed")


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "LOCALHOST:8880",
        "[::1]:8880",
        "192.168.1.5",
        "speech",
        "a.localhost",
        "own.example:1",
        "10.0.0.1:1",
    ],
)
def test_own_hosts_are_served(start: Callable[..., Server], host: str) -> None:
    server = start(hosts=("Own.Example",))
    assert server.get("/v1/models", {"Host": host}).status == 200


def test_keys_allow_every_host(start: Callable[..., Server]) -> None:
    server = start(api_key=("one",))
    assert server.get("/v1/models", {"Host": "evil.com", "Authorization": "Bearer one"}).status == 200
    assert start(hosts=("*",)).get("/v1/models", {"Host": "evil.com"}).status == 200


def test_websocket_refuses_foreign_hosts(server: Server) -> None:
    async def status() -> int:
        async with aiohttp.ClientSession() as http:
            with pytest.raises(aiohttp.WSServerHandshakeError) as caught:
                await http.ws_connect(address(server), headers={"Host": "evil.com"})
            return caught.value.status

    assert asyncio.run(status()) == 403


@pytest.mark.parametrize("origin", ["http://[", "http://[::1", "//", "\x7f", "http://a:b:c"])
def test_invalid_origins_are_refused(server: Server, origin: str) -> None:
    assert server.get("/v1/models", {"Origin": origin}).status == 403


def test_logs_omit_queries() -> None:
    record = logging.makeLogRecord(
        {
            "msg": '%s - "WebSocket %s" [accepted]',
            "args": ("1.2.3.4", "/v1/audio/speech/stream?api_key=SECRET&x=1"),
            "error": "GET http://a/b?token=SECRET failed",
        }
    )
    line = JsonLines().format(record)
    assert "SECRET" not in line
    assert "/v1/audio/speech/stream?…" in json.loads(line)["message"]


def test_lack_of_files_is_logged_once_a_second(caplog: pytest.LogCaptureFixture) -> None:
    async def fail() -> None:
        loop = asyncio.get_running_loop()
        log_loop_errors(loop)
        for _ in range(2000):
            error = OSError(errno.EMFILE, "Too many open files")
            loop.call_exception_handler(
                {"message": "socket.accept() out of system resource", "exception": error}
            )
        loop.call_exception_handler({"message": "something else", "exception": ValueError("x")})

    asyncio.run(fail())
    assert [record.message.partition(":")[0] for record in caplog.records] == [
        "connections wait",
        "something else",
    ]


def test_wyoming_hangup_logs_no_traceback(
    start: Callable[..., Server], caplog: pytest.LogCaptureFixture
) -> None:
    server = start(wyoming_port=0)
    start_event = encode(Event("synthesize-start", {}))
    chunk = encode(Event("synthesize-chunk", {"text": "Ha. Ha. " * 50}))
    for data in (
        b"",
        b'{"ty',
        start_event,
        start_event + chunk,
        encode(Event("synthesize", {"text": "Ha. " * 50})),
    ):
        for _ in range(3):
            connection = socket.create_connection(("127.0.0.1", server.wyoming.port), timeout=30)
            connection.sendall(data)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # a reset
            connection.close()
    wait_for(lambda: not server.wyoming._clients and not server.service.scheduler.jobs)
    gc.collect()
    assert [record.message for record in caplog.records if record.levelno >= logging.WARNING] == []


def test_failed_reload_is_logged(
    start: Callable[..., Server], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    server = start()

    def fail() -> None:
        raise OverflowError("a voice of a stranger")

    monkeypatch.setattr(server.service.bundles, "reload", fail)
    asyncio.run_coroutine_threadsafe(server.service.reload(), server.loop).result(30)
    assert [record.message for record in caplog.records if record.levelno >= logging.ERROR] == [
        "bundles not reloaded"
    ]


def test_lack_of_memory_has_its_own_status() -> None:
    shown = describe_error(MemoryError("Unable to allocate 5 GiB"))
    assert (shown.status_code, shown.code) == (503, "out_of_memory")
    assert "GiB" not in shown.detail


WORDS = st.sampled_from(
    [
        "Ha.",
        "",
        "<speak>",
        "</speak>",
        "[voice:",
        "[rate:0.1]",
        "[pause:9s]",
        "é" * 50,
        "\0",
        "9" * 40,
        MANY,
        "<voice name='",
    ]
) | st.text(max_size=20)
TEXTS = st.lists(WORDS, max_size=6).map("".join)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
FIELDS = [
    "input",
    "text",
    "voice",
    "voices",
    "speed",
    "phonemes",
    "turns",
    "ssml",
    "markup",
    "lang_code",
    "model",
]
BODIES = st.dictionaries(st.sampled_from([*FIELDS, "response_format", "seed", "x"]), VALUES, max_size=5)
HEADERS = st.dictionaries(
    st.sampled_from(["Host", "Origin", "Authorization", "Content-Type", "Range", "Content-Encoding"]),
    st.text(st.characters(min_codepoint=32, max_codepoint=255, exclude_characters="\x7f"), max_size=30),
    max_size=3,
)
PATHS = st.sampled_from(
    [
        *("/v1/audio/speech", "/v1/audio/voices/combine", "/v1/models/a", "/v1/download/a", "/", "/metrics"),
        *("/dev/captioned_speech", "/dev/generate_from_phonemes", "/dev/phonemize", "/dev/ssml"),
        "/dev/dialogue",
    ]
)
QUERIES = st.sampled_from(["", "?model=%ff", "?name=%00", "?a=%", "?legacy=1&legacy=2", "?name=../../a"])
EXAMPLES = settings(
    max_examples=60, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck), database=None
)


@EXAMPLES
@given(st.sampled_from(["POST", "GET"]), PATHS, QUERIES, BODIES, HEADERS, st.integers(0, 400))
def test_mutated_http_requests_cause_no_server_error(
    server: Server,
    method: str,
    path: str,
    query: str,
    body: dict[str, Any],
    headers: dict[str, str],
    cut: int,
) -> None:
    data = json.dumps(body).encode()
    data = data[:-cut] if 0 < cut < 4 else data
    encoded = {name: value.encode("latin-1") for name, value in headers.items()}
    answer = server.request(method, path + query, data, encoded)  # type: ignore[arg-type]
    assert answer.status < 500, answer


@EXAMPLES
@given(
    st.lists(
        st.dictionaries(st.sampled_from(["type", "text", "session", "event_id"]), VALUES | TEXTS), max_size=4
    )
)
def test_mutated_websocket_events_cause_no_server_error(server: Server, events: list[dict[str, Any]]) -> None:
    kinds = ["input_text.append", "session.update", "input_text.flush", "speech.cancel"]

    async def talk() -> list[dict[str, Any]]:
        async with aiohttp.ClientSession() as http, http.ws_connect(address(server)) as socket:
            for place, event in enumerate(events):
                await socket.send_str(json.dumps({"type": kinds[place]} | event))
            await socket.send_json({"type": "input_text.end"})
            return [message.json() async for message in socket]

    errors = [event["error"] for event in asyncio.run(talk()) if event["type"] == "error"]
    assert all(error["type"] != "server_error" for error in errors), errors


@EXAMPLES
@given(
    st.sampled_from(["synthesize", "synthesize-start", "describe", "ping", "select-program", "x"]),
    VALUES,
    VALUES,
)
def test_mutated_wyoming_events_cause_no_server_error(
    server: Server, kind: str, data: Any, voice: Any
) -> None:
    node = data if isinstance(data, dict) else {"text": data, "voice": voice}
    head = json.dumps({"type": kind, "data": node}).encode() + b"\n"
    answer = wyoming_answer(server, head + encode(Event("synthesize-stop", {})))
    assert b"internal_error" not in answer
    assert b"bundle_error" not in answer


@pytest.mark.slow("hundreds of requests, in bounded memory")
@pytest.mark.parametrize("path", ["/dev/phonemize", "/dev/ssml"])
def test_flood_of_computations_is_bounded(start: Callable[..., Server], path: str) -> None:
    """Others are answered meanwhile, and the end comes without a kill."""
    server = start(max_requests=8, max_body_bytes=100_000)
    body = json.dumps({"text": "<speak>" + "Ha. " * 2000}).encode()
    statuses: list[int] = []
    server.request("POST", path, body)  # opens what reads texts

    def client() -> None:
        for _ in range(10):
            statuses.append(server.request("POST", path, body).status)

    gc.collect()
    tracemalloc.start()
    clients = [threading.Thread(target=client) for _ in range(40)]
    for each in clients:
        each.start()
    for _ in range(10):
        assert server.get("/health").status == 200
    for each in clients:
        each.join()
    held = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert set(statuses) <= {200, 400, 429}
    assert 429 in statuses
    assert held < 20_000_000, held


@pytest.mark.slow("a process with a limit of open files, and a thousand connections")
def test_lack_of_files_logs_little(tmp_path: Path) -> None:
    resource = pytest.importorskip("resource")
    from server_process import server_process
    from serving import ROOMY
    from toy_bundle import compile_into, refresh, write_bundle

    folder = write_bundle(tmp_path / "toy", buckets=ROOMY)
    compile_into(folder, "exact")
    refresh(folder)
    with server_process(folder) as server:
        resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (128, 128))
        with contextlib.ExitStack() as stack:
            for _ in range(400):
                stack.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=30))
            server.wait_for("connections wait")
        wait_for(lambda: server.metric("speeches") == 0)
        assert len(json.dumps(server.lines)) < 20_000
