"""Wyoming, with the client of the package `wyoming`."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from serving import LONG, Server, ends_without_another_call, serving, wait_for
from wyoming.audio import AudioChunk
from wyoming.client import AsyncTcpClient
from wyoming.error import Error
from wyoming.event import Event
from wyoming.ping import Ping, Pong
from wyoming.tts import (
    Synthesize,
    SynthesizeStart,
    SynthesizeVoice,
)

from kokoro_tvm.serving.wyoming.info import find_voice

T = TypeVar("T")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("served") / "toy", wyoming_port=0) as running:
        yield running


def port(server: Server) -> int:
    return server.wyoming.port


def talk(server: Server, conversation: Callable[[AsyncTcpClient], Awaitable[T]]) -> T:
    async def run() -> T:
        async with AsyncTcpClient("127.0.0.1", port(server), read_timeout=30) as client:
            return await conversation(client)

    return asyncio.run(run())


async def heard(client: AsyncTcpClient, last: str = "audio-stop") -> tuple[list[str], bytes]:
    """(types of the events up to the last one, the audio); consecutive chunks count as one."""
    kinds: list[str] = []
    audio = b""
    while (event := await client.read_event()) is not None:
        if not kinds or kinds[-1] != event.type:
            kinds.append(event.type)
        if AudioChunk.is_type(event.type):
            chunk = AudioChunk.from_event(event)
            assert (chunk.rate, chunk.width, chunk.channels) == (24000, 2, 1)
            assert chunk.timestamp == 1000 * (len(audio) // 2) // 24000
            audio += chunk.audio
        if event.type in (last, "error"):
            break
    return kinds, audio


def test_wyoming_speaks_text_without_markup(server: Server) -> None:
    text = "He ran [pause:1s] home."

    async def conversation(client: AsyncTcpClient) -> tuple[list[str], bytes]:
        await client.write_event(Synthesize(text, text_format="text").event())
        return await heard(client)

    _, audio = talk(server, conversation)
    assert audio == server.expected(text, markup=False)


@pytest.mark.filterwarnings("ignore::kokoro_tvm.runtime.SpeechWarning")
@pytest.mark.parametrize(
    ("configured", "requested"),
    [((), ["citations"]), (("citations",), None), (("code", "citations"), ["citations"])],
)
def test_wyoming_leaves_out_kinds_of_text(
    start: Callable[..., Server], configured: tuple[str, ...], requested: list[str] | None
) -> None:
    server = start(wyoming_port=0, wyoming_omit=configured)
    text = "He ran [3] `far` home (Lee, 2020)."

    async def conversation(client: AsyncTcpClient) -> tuple[list[str], bytes]:
        data = {"text": text} | ({} if requested is None else {"omit": requested})
        await client.write_event(Event("synthesize", data))
        return await heard(client)

    _, audio = talk(server, conversation)
    assert audio == server.expected("He ran `far` home.")


@pytest.mark.parametrize(
    ("wanted", "voice"),
    [
        (None, "af_heart"),
        (SynthesizeVoice(name="am_adam"), "am_adam"),
        (SynthesizeVoice(language="en_GB"), "bf_emma"),
        (SynthesizeVoice(language="es-MX"), "ef_dora"),
    ],
)
def test_wyoming_synthesizes(server: Server, wanted: SynthesizeVoice | None, voice: str) -> None:
    async def conversation(client: AsyncTcpClient) -> list[tuple[list[str], bytes]]:
        answers = []
        for _ in range(2):  # a connection speaks more than once
            await client.write_event(Synthesize(LONG, voice=wanted).event())
            answers.append(await heard(client))
        return answers

    answers = talk(server, conversation)
    assert answers == 2 * [(["audio-start", "audio-chunk", "audio-stop"], server.expected(LONG, voice))]


def test_wyoming_answers_ping(server: Server) -> None:
    async def conversation(client: AsyncTcpClient) -> Event | None:
        await client.write_event(Event("run-pipeline", {"of": "another service"}))  # is passed over
        await client.write_event(Ping(text="hello").event())
        return await client.read_event()

    event = talk(server, conversation)
    assert event is not None
    assert Pong.from_event(event).text == "hello"


def test_wyoming_speaks_ssml(server: Server) -> None:
    async def conversation(client: AsyncTcpClient) -> tuple[list[str], bytes]:
        text = "<speak>He ran <break time='1s'/> home.</speak>"
        await client.write_event(Synthesize(text, text_format="ssml").event())
        return await heard(client)

    _, audio = talk(server, conversation)
    assert audio == server.expected("<speak>He ran <break time='1s'/> home.</speak>", ssml=True)


@pytest.mark.parametrize(
    ("event", "message"),
    [
        (Synthesize("he", voice=SynthesizeVoice(name="af_hart")).event(), "There is no voice 'af_hart'"),
        (Synthesize("he", voice=SynthesizeVoice(language="tlh")).event(), "no voice of the language 'tlh'"),
        (Synthesize("he", text_format="html").event(), "should be text or ssml"),
        (Synthesize("").event(), "othing to s"),
        (Synthesize("he " * 40_000).event(), "The text is longer than 100000 characters"),
        (Event("synthesize", {"text": ["he"]}), "`text`: Input should be a valid string"),
        (Event("synthesize", {"text": "he", "voice": "af_heart"}), "`voice` should be an object"),
        (Event("synthesize", {"text": "he", "omit": ["poems"]}), "`omit[0]`: Input should be 'citations'"),
        (Event("synthesize-stop"), "without synthesize-start"),
    ],
)
def test_wyoming_closes_after_an_error(server: Server, event: Event, message: str) -> None:
    async def conversation(client: AsyncTcpClient) -> tuple[str, Event | None]:
        await client.write_event(event)
        answer = await client.read_event()
        assert answer is not None
        return Error.from_event(answer).text, await client.read_event()

    text, after = talk(server, conversation)
    assert message in text
    assert after is None
    assert server.service.scheduler.jobs == set()


def test_wyoming_reports_an_early_failure(server: Server) -> None:
    async def conversation(client: AsyncTcpClient) -> list[str]:
        await client.write_event(SynthesizeStart(voice=SynthesizeVoice(name="nobody")).event())
        kinds, _ = await heard(client)
        return kinds

    assert talk(server, conversation) == ["error"]


def test_wyoming_failure_sends_no_audio_stop(start: Callable[..., Server]) -> None:
    server = start(wyoming_port=0)
    server.runner.fail_after(1)

    async def conversation(client: AsyncTcpClient) -> tuple[list[str], Event | None]:
        await client.write_event(Synthesize(LONG).event())
        kinds, _ = await heard(client)
        return kinds, await client.read_event()

    assert talk(server, conversation) == (["audio-start", "audio-chunk", "error"], None)


def test_wyoming_hangup_cancels_the_job(start: Callable[..., Server]) -> None:
    server = start(wyoming_port=0)
    server.runner.close_after(1)

    async def conversation(client: AsyncTcpClient) -> None:
        await client.write_event(Synthesize(LONG).event())
        await client.read_event()
        await asyncio.to_thread(server.runner.waiting.acquire)

    talk(server, conversation)
    ends_without_another_call(server)


def test_wyoming_reports_a_full_queue(start: Callable[..., Server]) -> None:
    server = start(wyoming_port=0, max_requests=1)
    server.runner.close_after(0)

    async def conversation(client: AsyncTcpClient) -> str:
        await client.write_event(Synthesize(LONG).event())
        await asyncio.to_thread(server.runner.waiting.acquire)
        async with AsyncTcpClient("127.0.0.1", port(server), read_timeout=30) as other:
            await other.write_event(Synthesize(LONG).event())
            event = await other.read_event()
        assert event is not None
        server.runner.gate.set()
        return Error.from_event(event).code or ""

    assert talk(server, conversation) == "rate_limit_exceeded"


@contextmanager
def raw(server: Server) -> Iterator[socket.socket]:
    with socket.create_connection(("127.0.0.1", port(server)), timeout=30) as connected:
        yield connected


def answer_to(server: Server, data: bytes) -> list[dict[str, Any]]:
    """The heads of the events that bytes are answered with, until the server closes."""
    with raw(server) as client:
        client.sendall(data)
        client.shutdown(socket.SHUT_WR)
        received = b""
        while part := client.recv(1 << 16):
            received += part
    result = []
    while received:
        line, _, received = received.partition(b"\n")
        head = json.loads(line)
        length = head.get("data_length", 0)
        head["data"] = json.loads(received[:length])
        received = received[length + head.get("payload_length", 0) :]
        result.append(head)
    return result


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", "not JSON"),
        (b"[1]\n", "not a JSON object"),
        (b'{"type": 3}\n', "string `type`"),
        (b'{"type": "describe", "data": []}\n{"type": "x", "data": [1]}\n', "`data` is an object"),
        (b'{"type": "describe", "data_length": -1}\n', "data_length should be"),
        (b'{"type": "describe", "payload_length": 99999999999}\n', "payload_length should be"),
        (b'{"type": "describe", "data_length": "9"}\n', "data_length should be"),
        (b'{"type": "describe", "data_length": 9}\n{}', "ends early"),
        (b'{"type": "desc', "ends early"),
        (b'{"type": "\xff"}\n', "not JSON"),
        (b"[" * 100_000 + b"\n", "not JSON"),
        (b'{"type": "x", "data": ' + b'{"a":' * 40 + b"1" + b"}" * 41 + b"\n", "nested more than"),
        (b" " * (2 << 20), "is longer than"),
        (b'{"type": "ping", "data": {"text": 1e999}}\n', "1e999 is no number"),
        (
            b'{"type": "synthesize", "data": {"text": "he \\ud800"}}\n',
            "unable to parse raw data as a unicode",
        ),
        (
            b'{"type": "synthesize", "data": {"text": "he", "voice": {"name": "\\ud800"}}}\n',
            "unable to parse raw data as a unicode",
        ),
    ],
)
def test_wyoming_refuses_invalid_events(server: Server, data: bytes, message: str) -> None:
    answers = answer_to(server, data)
    assert answers[-1]["type"] == "error"
    assert message in answers[-1]["data"]["text"]


def test_wyoming_answers_any_ping(server: Server) -> None:
    (pong,) = answer_to(server, b'{"type": "ping", "data": {"text": "\\ud800"}}\n')
    assert (pong["type"], pong["data"]) == ("pong", {"text": "\ud800"})


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.binary(max_size=200), st.sampled_from([b"", b"\n", b'{"type": "synthesize", "data": {"text": "a"}}\n'])
)
def test_wyoming_survives_random_bytes(server: Server, data: bytes, before: bytes) -> None:
    for head in answer_to(server, before + data + b"\n"):
        assert head["type"] in {"error", "audio-start", "audio-chunk", "audio-stop"}
        assert "Traceback" not in str(head)


def test_wyoming_closes_silent_clients(start: Callable[..., Server]) -> None:
    server = start(wyoming_port=0, idle_timeout_s=0.05)
    with raw(server) as client:
        assert b"Nothing came" in client.recv(1 << 16) + client.recv(1 << 16)


def test_wyoming_closes_clients_without_reads(start: Callable[..., Server]) -> None:
    """What is computed for it ends, and others are heard meanwhile."""
    server = start(wyoming_port=0, write_timeout_s=0.2)
    with raw(server) as client:
        data = {"text": "He ran. [pause:300s] No. [pause:300s] Go on. [pause:300s] No."}  # 43 MB
        client.sendall(json.dumps({"type": "synthesize", "data": data}).encode() + b"\n")
        assert client.recv(1000)
        (job,) = server.service.scheduler.jobs
        assert server.speak("he").body == server.expected("he")
        wait_for(lambda: job.cancelled)


@pytest.mark.parametrize(
    ("language", "voice"),
    [("en-US", "af_a"), ("en", "af_a"), ("EN_gb", "bm_b"), ("en-AU", "af_a"), ("de", None)],
)
def test_find_voice_matches_languages(language: str, voice: str | None) -> None:
    assert find_voice(language, ["af_a", "bm_b", "strange"]) == voice
