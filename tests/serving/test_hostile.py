"""Hostile clients: memory is bounded, other clients are served, foreign pages are refused."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import socket
import subprocess
import sys
import threading
import time
import tracemalloc
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from serving import LONG, ROOMY, Server, wait_for
from sessions import Client, talk
from toy_bundle import write_bundle

from kokoro_tvm.serving.connections import TimedProtocol
from kokoro_tvm.serving.wyoming.events import Event, encode
from kokoro_tvm.tools.bench.load.drive import ClientResponse, drive, speak_alone
from kokoro_tvm.tools.bench.load.hostile import beside_hostile_clients
from kokoro_tvm.tools.bench.load.workload import Workload

FOREIGN = {"Origin": "https://other.example", "Content-Type": "text/plain"}


@contextmanager
def memory() -> Iterator[Callable[[], tuple[int, int]]]:
    """Measure (current, peak) bytes of this process since the start, without the collector of cycles."""
    gc.collect()
    gc.disable()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    try:
        yield lambda: tuple(size - before for size in tracemalloc.get_traced_memory())  # type: ignore[return-value]
    finally:
        tracemalloc.stop()
        gc.enable()


@pytest.mark.parametrize(
    "origin", ["https://other.example", "null", "http://127.0.0.1", "https://own.example.x"]
)
def test_foreign_origins_are_refused(start: Callable[..., Server], origin: str) -> None:
    """A browser sends this without asking first. The rule is that of WebSockets."""
    server = start(cors=("https://own.example",))
    for method, path in (
        ("POST", "/v1/audio/speech"),
        ("POST", "/dev/phonemize"),
        ("GET", "/v1/audio/voices"),
    ):
        answer = server.request(method, path, {"input": LONG, "text": "a"}, FOREIGN | {"Origin": origin})
        assert (answer.status, answer.error["code"]) == (403, "origin_not_allowed")
        assert "access-control-allow-origin" not in answer.headers
    assert not server.runner.calls


def test_own_origins_are_served(start: Callable[..., Server]) -> None:
    server = start(cors=("https://own.example",))
    for origin in (server.url, "https://own.example"):
        assert server.post("/v1/audio/speech", {"input": "Ha."}, FOREIGN | {"Origin": origin}).status == 200
    anybody = start(cors=("*",))
    assert anybody.post("/v1/audio/speech", {"input": "Ha."}, FOREIGN).status == 200


def test_session_drops_a_too_long_text(start: Callable[..., Server]) -> None:
    server = start(max_characters=60_000)
    server.runner.close_after(0)

    async def conversation(client: Client) -> tuple[int, int]:
        await client.say("Ha. " * 50)
        await asyncio.to_thread(server.runner.waiting.acquire, timeout=30)
        with memory() as used:
            for _ in range(400):
                await client.send("input_text.append", text="a" * 50_000)
            await client.send("x")
            while "An event has one of" not in (await client.next("error"))["error"]["message"]:
                pass
            return used()

    now, most = talk(server, conversation)
    assert now < 1_000_000
    assert most < 4_000_000  # of 20 MB


def test_session_drops_refused_speeches(start: Callable[..., Server]) -> None:
    server = start(max_session_speeches=1)
    server.runner.close_after(0)

    async def conversation(client: Client) -> tuple[int, int]:
        await client.say("Ha.")
        await client.send("input_text.flush")
        await asyncio.to_thread(server.runner.waiting.acquire, timeout=30)
        with memory() as used:
            for _ in range(200):
                await client.send("input_text.append", text="a" * 50_000)
                await client.send("input_text.flush")
                assert (await client.next("speech.audio.done"))["status"] == "failed"
            return used()

    assert talk(server, conversation)[0] < 1_000_000  # of 10 MB


def test_session_frees_its_memory(start: Callable[..., Server]) -> None:
    """Its texts were not spoken yet; nothing waits for the collector of cycles."""
    server = start()

    async def first(client: Client) -> None:  # it imports modules
        await client.say("Ha.")
        await client.send("input_text.end")
        await client.speech()

    async def conversation(client: Client) -> int:
        await client.say("Ha. " * 100)
        await asyncio.to_thread(server.runner.waiting.acquire, timeout=30)
        for _ in range(3):
            await client.say("é" * 90_000, 30_000)
            await client.send("input_text.flush")
        await client.send("x")
        await client.next("error")
        return used()[0]

    talk(server, first)
    server.runner.close_after(0)
    with memory() as used:
        assert talk(server, conversation) > 400_000
        server.runner.gate.set()
        wait_for(lambda: not server.service.scheduler.jobs)
        wait_for(lambda: used()[0] < 200_000)


def test_wyoming_client_has_one_event_read_ahead(start: Callable[..., Server]) -> None:
    server = start(wyoming_port=0, max_body_bytes=100_000)
    server.runner.close_after(0)
    with socket.create_connection(("127.0.0.1", server.wyoming.port), timeout=30) as client:
        client.sendall(encode(Event("synthesize", {"text": "Ha."})))
        assert server.runner.waiting.acquire(timeout=30)
        client.setblocking(False)
        large = encode(Event("describe", {"x": "é" * 16_000}, b"\0" * 99_000))
        with memory() as used:
            sent, quiet = 0, 0
            while quiet < 50:  # until nothing more is taken
                try:
                    sent += client.send(large[sent % len(large) :])
                    quiet = 0
                except BlockingIOError:
                    quiet += 1
                    time.sleep(0.005)  # the server reads
            assert used()[1] < 1_000_000
    server.runner.gate.set()


def test_timed_protocol_overrides_public_methods_only() -> None:
    """TimedProtocol overrides methods of `asyncio.Protocol` alone."""
    overridden = {name for name in vars(TimedProtocol) if hasattr(TimedProtocol.__bases__[0], name)}
    assert {name for name in overridden if not name.startswith("__")} == {
        "connection_made",
        "connection_lost",
    }
    assert not {"_timer", "_registry", "_close", "start_timer", "stop_timer", "upgrade"} & set(
        dir(TimedProtocol.__bases__[0])
    )


def test_serve_refuses_a_busy_wyoming_port(tmp_path: Path) -> None:
    bundle = write_bundle(tmp_path / "toy", buckets=ROOMY)
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        command = [sys.executable, "-c", "from kokoro_tvm.cli import main; main()", "serve", "--port", "0"]
        command += ["--bundle", str(bundle), "--wyoming-port", str(port)]
        found = subprocess.run(command, capture_output=True, encoding="utf-8")
    assert found.returncode == 2
    (line,) = found.stderr.splitlines()
    assert f"Wyoming cannot be served at port {port}: " in line
    assert "address already in use" in line


@pytest.mark.parametrize(
    "format", ["pcm", pytest.param("wav", marks=pytest.mark.slow("holds for every format alike"))]
)
def test_long_text_delays_no_short_text(
    start: Callable[..., Server], monkeypatch: pytest.MonkeyPatch, format: str
) -> None:
    """After the running component, requests without audio so far go first."""
    server = start()
    callers: list[tuple[str, int]] = []
    run = server.runner.run

    def noted(component: str, *arguments: Any) -> Any:
        callers.append((component, threading.get_ident()))
        return run(component, *arguments)

    monkeypatch.setattr(server.runner, "run", noted)
    text = "bad cab " * 2500
    body = json.dumps({"input": text, "response_format": format})
    server.runner.close_after(0)
    with contextlib.closing(server.connect()) as connection, ThreadPoolExecutor(4) as others:
        connection.request("POST", "/v1/audio/speech", body)
        assert server.runner.waiting.acquire(timeout=30)
        long = callers[-1][1]
        answers = [others.submit(server.speak, LONG) for _ in range(4)]
        wait_for(lambda: server.service.scheduler.waiting == 4)
        before = len(callers)
        server.runner.gate.set()
        audio = connection.getresponse().read()
        expected = server.expected(LONG)
        assert [answer.result().body for answer in answers] == [expected] * 4
    firsts: dict[int, int] = {}
    for place, (component, caller) in enumerate(callers[before:]):
        if component == "decoder_seeded":
            firsts.setdefault(caller, place)
    later = [place for place, (_, caller) in enumerate(callers[before:]) if caller == long]
    assert len(later) > 100
    assert len([place for caller, place in firsts.items() if caller != long and place < later[0]]) == 4
    assert audio.endswith(server.expected(text))


@pytest.mark.slow("serves ten clients for seconds")
def test_hostile_clients_change_no_other_audio(start: Callable[..., Server]) -> None:
    """Nothing is mixed, and memory ends as it began."""
    server = start(max_characters=100_000, max_sessions=8)
    workload = Workload(("He ran.", "A dog did it.", "No."), (LONG,))
    url = f"{server.url}/v1/audio/speech"
    alone = asyncio.run(speak_alone(url, workload))

    async def everybody() -> list[ClientResponse]:
        async with beside_hostile_clients(server.url, 6):
            return await drive(url, workload, alone, 4, 1.0)

    async def twice() -> tuple[list[ClientResponse], list[ClientResponse], int]:
        first = await everybody()
        await asyncio.to_thread(wait_for, lambda: not server.service.scheduler.jobs)
        with memory() as used:
            second = await everybody()
            await asyncio.to_thread(wait_for, lambda: not server.service.scheduler.jobs)
            gc.collect()
            return first, second, used()[0]

    first, second, held = asyncio.run(twice())
    assert len(first) >= 4
    assert {answer.problem for answer in first + second} == {""}
    assert held < 3_000_000
