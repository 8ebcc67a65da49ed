"""Text in pieces over a WebSocket, through a socket."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import re
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from serving import LONG, Server, wait_for
from sessions import CREATED, Client, address, talk
from tiers import each_format

from kokoro_tvm.serving.bodies import describe_words
from kokoro_tvm.serving.encoding import FORMATS


@pytest.mark.parametrize("size", [1, 7, 10_000])
def test_session_audio_equals_that_of_the_whole_text(server: Server, size: int) -> None:
    async def conversation(client: Client) -> tuple[str, bytes, list[dict[str, Any]]]:
        await client.say(LONG, size)
        await client.send("input_text.flush")
        return await client.speech()

    status, audio, words = talk(server, conversation)
    assert (status, audio) == ("completed", server.expected(LONG))
    assert words == describe_words(server.synthesizer(LONG).words)


def test_session_speaks_before_the_text_is_complete(server: Server) -> None:
    async def conversation(client: Client) -> bytes:
        await client.say(LONG)
        first = base64.b64decode((await client.next("speech.audio.delta"))["audio"])
        await client.send("input_text.flush")
        return first + (await client.speech())[1]

    assert talk(server, conversation) == server.expected(LONG)


def test_session_sends_speeches_in_order(server: Server) -> None:
    async def conversation(client: Client) -> tuple[list[Any], aiohttp.WSMsgType, int | None]:
        texts = ["He ran. ", "A dog did.", LONG]
        for text in texts[:2]:
            await client.say(text)
            await client.send("input_text.flush")
            await client.send("input_text.flush")  # nothing is open
        await client.say(texts[2])
        await client.send("input_text.end")
        heard = [await client.speech() for _ in texts]
        last = await client.socket.receive()
        return [audio for _, audio, _ in heard], last.type, last.data

    audio, kind, code = talk(server, conversation)
    assert audio == [server.expected(text) for text in ("He ran. ", "A dog did.", LONG)]
    assert (kind, code) == (aiohttp.WSMsgType.CLOSE, 1000)


def test_session_update_applies_to_the_next_speech(server: Server) -> None:
    async def conversation(client: Client) -> tuple[Any, list[tuple[str, bytes, list[dict[str, Any]]]]]:
        await client.say("He ran. ")
        await client.send("session.update", session={"voice": "am_adam", "speed": 2, "words": False})
        changed = (await client.next("session.updated"))["session"]
        await client.say("No.")
        await client.send("input_text.flush")
        await client.say("Go on.")
        await client.send("input_text.end")
        return changed, [await client.speech(), await client.speech()]

    changed, (first, second) = talk(server, conversation)
    assert changed == CREATED | {"voice": "am_adam", "speed": 2.0, "words": False}
    assert first[1] == server.expected("He ran. No.")
    assert second == ("completed", server.expected("Go on.", "am_adam", 2.0), [])


def test_session_can_disable_markup(server: Server) -> None:
    text = "He ran [pause:1s] home."

    async def conversation(client: Client) -> tuple[str, bytes, list[dict[str, Any]]]:
        await client.send("session.update", session={"markup": False})
        await client.next("session.updated")
        await client.say(text)
        await client.send("input_text.end")
        return await client.speech()

    _, audio, words = talk(server, conversation)
    assert audio == server.expected(text, markup=False)
    assert "pause" in [word["word"] for word in words]


@pytest.mark.parametrize("format", each_format(FORMATS))
def test_session_encodes_every_format(server: Server, format: str) -> None:
    """The bytes are those of the route for whole texts, but for a length that is not known here."""

    async def conversation(client: Client) -> bytes:
        await client.send("session.update", session={"response_format": format})
        await client.next("session.updated")
        await client.say(LONG)
        await client.send("input_text.flush")
        return (await client.speech())[1]

    audio, whole = talk(server, conversation), server.speak(LONG, response_format=format).body
    assert len(audio) == len(whole)
    assert audio[44:] == whole[44:]


def test_session_cancel_stops_the_speech(start: Callable[..., Server]) -> None:
    """Cancel ends the current and the waiting speeches, not the next one."""
    server = start()
    server.runner.close_after(1)

    async def conversation(client: Client) -> tuple[list[str], bytes]:
        await client.say(LONG)
        await client.send("input_text.flush")
        await client.say("Not this.")
        await client.next("speech.audio.delta")
        await asyncio.to_thread(server.runner.waiting.acquire)
        await client.send("speech.cancel")
        ends = [await client.next("speech.audio.done") for _ in range(2)]
        server.runner.gate.set()
        await client.say("Go on.")
        await client.send("input_text.flush")
        status, audio, _ = await client.speech()
        return [*(end["status"] for end in ends), status], audio

    statuses, audio = talk(server, conversation)
    assert statuses == ["cancelled", "cancelled", "completed"]
    assert audio == server.expected("Go on.")


def test_session_cancel_works_after_the_end(start: Callable[..., Server]) -> None:
    server = start()
    server.runner.close_after(1)

    async def conversation(client: Client) -> tuple[str, aiohttp.WSMsgType]:
        await client.say(LONG)
        await client.send("input_text.end")
        await client.next("speech.audio.delta")
        await client.send("speech.cancel")
        status = (await client.next("speech.audio.done"))["status"]
        return status, (await client.socket.receive()).type

    assert talk(server, conversation) == ("cancelled", aiohttp.WSMsgType.CLOSE)


@pytest.mark.parametrize(
    ("message", "wrong"),
    [
        ("{", "is not JSON"),
        ("[1]", "one of the types"),
        ('{"type": "response.create"}', "one of the types"),
        ('{"type": ["speech.cancel"]}', "one of the types"),
        ("[" * 10_000, "is not JSON"),
        ('{"type": "input_text.append"}', "`text`: Field required"),
        ('{"type": "input_text.append", "text": 3}', "`text`: Input should be a valid string"),
        ('{"type": "input_text.append", "text": "\\ud800"}', "unable to parse raw data as a unicode"),
        ('{"type": "session.update"}', "`session`: Input should be a JSON object"),
        (
            '{"type": "session.update", "session": {"\\ud800": 1}}',
            "`session.?`: Extra inputs are not permitted",
        ),
        ('{"type": "x", "event_id": "\\ud800"}', "one of the types"),
        ("\0", "is not JSON"),
        ('{"type": "session.update", "session": {"speed": NaN}}', "is not JSON"),
        (
            '{"type": "session.update", "session": {"speed": 40}}',
            "`session.speed`: Input should be less than or equal to 4",
        ),
        ('{"type": "session.update", "session": {"response_format": "ogg"}}', "response_format"),
        (
            '{"type": "session.update", "session": {"voice_": "x"}}',
            "`session.voice_`: Extra inputs are not permitted",
        ),
        (b'{"type": "speech.cancel"}', "is not JSON"),
    ],
)
def test_session_survives_invalid_events(server: Server, message: str | bytes, wrong: str) -> None:
    async def conversation(client: Client) -> tuple[dict[str, Any], bytes]:
        send = client.socket.send_bytes if isinstance(message, bytes) else client.socket.send_str
        await send(message)  # type: ignore[arg-type]
        error = await client.next()
        await client.say("Go on.")
        await client.send("input_text.flush")
        return error, (await client.speech())[1]

    error, audio = talk(server, conversation)
    assert error["type"] == "error"
    assert wrong in error["error"]["message"]
    assert error["error"]["type"] == "invalid_request_error"
    assert audio == server.expected("Go on.")


def test_session_error_names_its_event(server: Server) -> None:
    async def conversation(client: Client) -> dict[str, Any]:
        await client.send("speech.stop", event_id="seven")
        return await client.next()

    assert talk(server, conversation)["error"]["event_id"] == "seven"


def test_session_fails_an_invalid_text(server: Server) -> None:
    """Later pieces of it are not spoken as if they were a text of their own."""

    async def conversation(client: Client) -> tuple[list[dict[str, Any]], bytes]:
        await client.send("session.update", session={"voice": "nobody"})
        await client.next("session.updated")
        await client.say("He ran. ")
        events = [await client.next(), await client.next()]
        await client.say("No.")
        await client.send("input_text.flush")
        await client.send("session.update", session={"voice": "am_adam"})
        await client.next("session.updated")
        await client.say("Go on.")
        await client.send("input_text.flush")
        return events, (await client.speech())[1]

    (error, done), audio = talk(server, conversation)
    assert error["speech_id"] == done["speech_id"] == "speech_1"
    assert "There is no voice 'nobody'" in error["error"]["message"]
    assert (done["type"], done["status"]) == ("speech.audio.done", "failed")
    assert audio == server.expected("Go on.", "am_adam")


def test_session_hides_failures_of_the_bundle(start: Callable[..., Server]) -> None:
    server = start()
    server.runner.fail_after(1)

    async def conversation(client: Client) -> tuple[dict[str, Any], str]:
        await client.say(LONG)
        await client.send("input_text.flush")
        error = await client.next("error")
        return error, (await client.next())["status"]

    error, status = talk(server, conversation)
    assert error["error"]["code"] == "bundle_error"
    assert "secret" not in json.dumps(error)
    assert status == "failed"


def test_session_refuses_a_too_long_text(start: Callable[..., Server]) -> None:
    server = start(max_characters=100)

    async def conversation(client: Client) -> tuple[str, str]:
        await client.say(LONG + LONG, 20)
        error = await client.next("error")
        return error["error"]["code"], (await client.next("speech.audio.done"))["status"]

    assert talk(server, conversation) == ("string_above_max_length", "failed")


def test_session_bounds_its_speeches(start: Callable[..., Server]) -> None:
    server = start(max_session_speeches=3)
    server.runner.close_after(0)

    async def conversation(client: Client) -> list[str]:
        for _ in range(4):
            await client.say("He ran.")
            await client.send("input_text.flush")
        await client.send("x")
        refused = (await client.next("speech.audio.done"))["status"]  # at once: nothing of it waits
        await client.next("error")  # all of the above has been read
        await asyncio.to_thread(server.runner.waiting.acquire)
        server.runner.gate.set()
        return [refused, *[(await client.next("speech.audio.done"))["status"] for _ in range(3)]]

    assert talk(server, conversation) == ["failed", *3 * ["completed"]]


def test_session_reports_a_full_queue(start: Callable[..., Server]) -> None:
    server = start(max_requests=1)
    server.runner.close_after(0)

    async def conversation(client: Client) -> tuple[str, str]:
        await client.say("He ran.")
        return (await client.next())["error"]["code"], (await client.next())["status"]

    with contextlib.closing(server.connect()) as speech:
        speech.request("POST", "/v1/audio/speech", json.dumps({"input": "Ha."}))
        assert server.runner.waiting.acquire(timeout=30)
        assert talk(server, conversation) == ("rate_limit_exceeded", "failed")


def test_session_ends_without_reads(start: Callable[..., Server]) -> None:
    server = start(write_timeout_s=0.2)

    async def conversation(client: Client) -> None:
        await client.say("He ran. [pause:300s] No. [pause:300s] Go on. [pause:300s] No.")  # 43 MB
        await client.send("input_text.flush")
        await client.next("speech.audio.delta")
        (job,) = server.service.scheduler.jobs
        client.socket._response.connection.transport.pause_reading()  # type: ignore[union-attr]
        assert (await asyncio.to_thread(server.speak, "he")).body == server.expected("he")
        await asyncio.to_thread(wait_for, lambda: job.cancelled)

    talk(server, conversation)


def test_session_ends_without_messages(start: Callable[..., Server]) -> None:
    server = start(idle_timeout_s=0.05)

    async def conversation(client: Client) -> tuple[str, aiohttp.WSMsgType]:
        return (await client.next())["error"]["code"], (await client.socket.receive()).type

    assert talk(server, conversation) == ("timeout", aiohttp.WSMsgType.CLOSE)


def test_sessions_above_the_limit_are_refused(start: Callable[..., Server]) -> None:
    server = start(max_sessions=0)
    with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
        talk(server, lambda client: client.next())
    assert refused.value.status == 429


def opened(server: Server, **headers: str) -> int:
    """The status of a handshake."""

    async def run() -> int:
        async with aiohttp.ClientSession() as http:
            try:
                async with http.ws_connect(address(server), headers=headers):
                    return 101
            except aiohttp.WSServerHandshakeError as refused:
                return refused.status

    return asyncio.run(run())


def test_session_refuses_foreign_origins(start: Callable[..., Server]) -> None:
    server = start(cors=("https://own.example",))
    assert opened(server, Origin="https://other.example") == opened(server, Origin="null") == 403
    assert opened(server, Origin="https://own.example") == 101
    assert opened(server, Origin=server.url) == opened(server) == 101


def test_session_requires_a_key(start: Callable[..., Server]) -> None:
    server = start(api_key=("secret",))
    assert opened(server) == opened(server, Authorization="Bearer other") == 401
    assert opened(server, Authorization="Bearer secret") == 101


def test_session_serves_the_program_of_the_docs(server: Server) -> None:
    page = (Path(__file__).parents[2] / "docs" / "serving.md").read_text(encoding="utf-8")
    (program,) = re.findall(r"```python\n(import asyncio, base64, aiohttp\n.*?)```", page, re.DOTALL)
    names: dict[str, Any] = {}
    exec(program.replace("ws://127.0.0.1:8880/v1/audio/speech/stream", address(server)), names)
    played: list[bytes] = []

    async def tokens() -> AsyncIterator[str]:
        for place in range(0, len(LONG), 5):
            yield LONG[place : place + 5]

    asyncio.run(names["speak"](tokens(), played.append))
    assert b"".join(played) == server.expected(LONG)


KINDS = ["session.update", "input_text.append", "input_text.flush", "speech.cancel", "x"]
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8) | st.sampled_from(["af_heart", "pcm"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(list(CREATED)), inner),
    max_leaves=4,
)
EVENTS = st.fixed_dictionaries(
    {"type": st.sampled_from(KINDS) | VALUES},
    optional={"text": VALUES, "session": VALUES, "event_id": VALUES},
)


@settings(max_examples=20, deadline=None)
@given(st.lists(EVENTS, max_size=8))
def test_session_survives_random_events(server: Server, events: list[dict[str, Any]]) -> None:
    async def conversation(client: Client) -> bytes:
        for event in events:
            await client.socket.send_json(event)
        await client.send("speech.cancel")
        await client.send("session.update", session=CREATED)
        while (await client.next("session.updated"))["session"] != CREATED:
            pass
        await client.say("Go on.")
        await client.send("input_text.end")
        heard: dict[str, bytes] = {}
        while (message := await client.socket.receive(timeout=30)).type is aiohttp.WSMsgType.TEXT:
            event = json.loads(message.data)
            if event["type"] == "speech.audio.delta":
                name = event["speech_id"]
                heard[name] = heard.get(name, b"") + base64.b64decode(event["audio"])
            if event["type"] == "error":
                assert event["error"]["code"] != "internal_error", event
        return list(heard.values())[-1]

    assert talk(server, conversation) == server.expected("Go on.")
