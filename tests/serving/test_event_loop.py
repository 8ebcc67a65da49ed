"""Nothing slow runs on the thread of the event loop."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from serving import LONG, Server, wait_for
from sessions import Client, talk
from tiers import BY_AV

from kokoro_tvm.common.errors import BundleError
from kokoro_tvm.runtime.bundle.languages import KOKORO
from kokoro_tvm.runtime.bundle.voices import Voices
from kokoro_tvm.runtime.speech import sentences
from kokoro_tvm.runtime.text import reading
from kokoro_tvm.serving import bodies, json_input
from kokoro_tvm.serving.bundles import Bundles
from kokoro_tvm.serving.encoding import FORMATS
from kokoro_tvm.serving.wyoming.events import Event, encode

LARGE = "a " * 40_000


@pytest.fixture
def threads(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Any, str], set[int]]]:
    """Record the threads that call a function of an object or a module."""

    def watched(owner: Any, name: str) -> set[int]:
        known: set[int] = set()
        function = getattr(owner, name)

        def noted(*arguments: Any, **options: Any) -> Any:
            known.add(threading.get_ident())
            return function(*arguments, **options)

        monkeypatch.setattr(owner, name, noted)
        return known

    yield watched


def thread_of(server: Server) -> int:
    result: list[int] = []
    server.loop.call_soon_threadsafe(lambda: result.append(threading.get_ident()))
    wait_for(lambda: result)
    return result[0]


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("formats", [("mp3", "flac", "wav", "pcm"), pytest.param(FORMATS, marks=BY_AV)])
def test_event_loop_runs_no_encoder(
    server: Server, threads: Callable[[Any, str], set[int]], whole: bool, formats: Sequence[str]
) -> None:
    """Opening one imports its library, which takes longer than all that follows."""
    calls = [
        threads(bodies, "open_encoder"),
        threads(bodies.AudioBody, "write"),
        threads(bodies.AudioBody, "close"),
    ]
    for format in formats:
        assert server.speak(LONG, response_format=format, stream=not whole).status == 200
    assert all(calls)
    assert thread_of(server) not in set().union(*calls)


def test_event_loop_runs_no_encoder_of_a_session(
    server: Server, threads: Callable[[Any, str], set[int]]
) -> None:
    calls = [
        threads(bodies, "open_encoder"),
        threads(bodies.AudioBody, "write"),
        threads(bodies.AudioBody, "close"),
    ]

    async def conversation(client: Client) -> str:
        await client.say(LONG)
        await client.send("input_text.end")
        return (await client.speech())[0]

    assert talk(server, conversation) == "completed"
    assert all(calls)
    assert thread_of(server) not in set().union(*calls)


def test_event_loop_parses_no_large_body(server: Server, threads: Callable[[Any, str], set[int]]) -> None:
    calls = threads(json_input, "parse_json")
    fields = {f"unknown{number}": number for number in range(20_000)}
    assert server.post("/v1/audio/speech", {"input": LARGE, "speed": 9, "a": fields}).status == 400
    assert calls
    assert thread_of(server) not in calls


def test_event_loop_parses_no_large_message(server: Server, threads: Callable[[Any, str], set[int]]) -> None:
    calls = threads(json_input.json, "loads")

    async def conversation(client: Client) -> str:
        await client.socket.send_str(json.dumps({"type": "nothing", "text": LARGE}))
        return (await client.next("error"))["error"]["param"]

    assert talk(server, conversation) == "type"
    assert thread_of(server) not in calls


def test_event_loop_reads_no_disk(server: Server, threads: Callable[[Any, str], set[int]]) -> None:
    calls = [threads(server.service.bundles, "changed"), threads(server.synthesizer.voices, "table")]
    assert server.get("/metrics").status == 200
    assert server.post("/v1/audio/voices/combine", {"voices": "af_heart"}).status == 200
    assert all(calls)
    assert thread_of(server) not in set().union(*calls)


def test_server_answers_before_front_ends_are_open(
    start: Callable[..., Server], monkeypatch: pytest.MonkeyPatch
) -> None:
    reached, gate = threading.Event(), threading.Event()

    def slow(bundles: Bundles) -> None:
        reached.set()
        assert gate.wait(30)

    monkeypatch.setattr(Bundles, "open_front_ends", slow)
    server = start()
    assert reached.wait(30)
    assert server.get("/health").status == 200
    answer = server.get("/ready")
    assert (answer.status, answer.json) == (503, {"status": "starting"})
    assert server.speak("Ha.").status == 200  # whoever does not ask is not refused
    gate.set()
    wait_for(lambda: server.get("/ready").status == 200)
    assert server.get("/ready").json == {"status": "ready"}


def test_ready_reports_front_ends_that_failed(
    start: Callable[..., Server], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def damaged(bundles: Bundles) -> None:
        raise BundleError("front_end.safetensors is damaged")

    monkeypatch.setattr(Bundles, "open_front_ends", damaged)
    server = start()
    wait_for(lambda: server.get("/ready").json == {"status": "failed"})
    assert server.get("/ready").status == 503
    assert [record.error for record in caplog.records if record.message == "front ends not opened"] == [  # type: ignore[attr-defined]
        "front_end.safetensors is damaged."
    ]


def test_open_front_ends_reads_a_word_of_each_language_with_data() -> None:
    read: list[tuple[str, str]] = []

    def synthesizer(data: object | None, *voices: str) -> Any:
        return SimpleNamespace(
            bundle=SimpleNamespace(root=Path("none"), front_end=data, languages=KOKORO),
            voices=SimpleNamespace(names=voices),
            phonemize=lambda text, voice, language: read.append((voice, language)),
        )

    made = {
        "whole": synthesizer(object(), "af_heart", "am_adam", "bf_emma", "jf_alpha"),
        "bare": synthesizer(None, "af_heart"),
    }
    Bundles(made).open_front_ends()
    assert read == [("af_heart", "a"), ("af_heart", "b")]


def test_event_loop_reads_no_text(
    start: Callable[..., Server], threads: Callable[[Any, str], set[int]]
) -> None:
    """Whatever comes in: by HTTP, in a session, by Wyoming, to be phonemized, as phonemes."""
    server = start(wyoming_port=0)
    calls = [
        threads(sentences, "parse_markup"),
        threads(sentences, "sentences_of_phonemes"),
        threads(reading, "parse_markup"),
        threads(Voices, "resolve"),
    ]
    for path in ("/v1/audio/speech", "/dev/captioned_speech"):
        assert server.post(path, {"input": LONG, "response_format": "pcm"}).status == 200
    assert (
        server.post("/dev/generate_from_phonemes", {"phonemes": "ha", "response_format": "pcm"}).status == 200
    )
    assert server.post("/dev/phonemize", {"text": "Ha."}).status == 200

    async def conversation(client: Client) -> str:
        await client.say(LONG)
        await client.send("input_text.end")
        return (await client.speech())[0]

    assert talk(server, conversation) == "completed"
    with socket.create_connection(("127.0.0.1", server.wyoming.port), timeout=30) as client:
        client.sendall(encode(Event("synthesize", {"text": LONG})))
        assert client.recv(1 << 10)
        wait_for(lambda: not server.service.scheduler.jobs)
    assert all(calls[:3])
    assert thread_of(server) not in set().union(*calls)
