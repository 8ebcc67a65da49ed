"""Notices about texts reach clients of every route."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

from serving import Server
from sessions import Client, talk
from wyoming.client import AsyncTcpClient
from wyoming.tts import Synthesize

from kokoro_tvm.serving.responses import notices_header

TEXT = "Say 世界 [abc](/d"
NOTICE = "has no closing round bracket; it is read as text"


def test_header_has_the_notices(server: Server) -> None:
    answer = server.speak(TEXT)
    assert answer.status == 200
    assert any(NOTICE in notice for notice in json.loads(answer.headers["x-notices"]))


def test_header_is_bounded_ascii_json() -> None:
    value = notices_header([f"Left out: {'世界' * 140}\r\nX-Evil: 1" for _ in range(50)])["X-Notices"]
    assert len(value) <= 4000
    assert value.isascii()
    assert value.isprintable()
    assert json.loads(value)[0].startswith("Left out: 世界")
    assert notices_header([]) == {}


def test_server_sent_events_have_the_notices(server: Server) -> None:
    answer = server.speak(TEXT, stream_format="sse")
    events = [json.loads(line[6:]) for line in answer.body.decode().splitlines() if line.startswith("data: ")]
    kinds = [event["type"] for event in events]
    notices = [event["notice"] for event in events if event["type"] == "speech.audio.notice"]
    assert any(NOTICE in notice for notice in notices)
    assert ["世界"] in [event["words"] for event in events if event["type"] == "speech.audio.notice"]
    assert kinds.index("speech.audio.notice") < kinds.index("speech.audio.delta")


def test_captions_have_the_notices(server: Server) -> None:
    fields: dict[str, Any] = {"input": TEXT, "response_format": "pcm", "stream": False}
    answer = server.post("/dev/captioned_speech", fields)
    assert any(NOTICE in notice for notice in answer.json["notices"])


def test_phonemes_have_the_notices(server: Server) -> None:
    answer = server.post("/dev/phonemize", {"text": TEXT, "language": "a"})
    assert any(NOTICE in notice for notice in json.loads(answer.headers["x-notices"]))


def test_websocket_sends_the_notices(server: Server) -> None:
    async def conversation(client: Client) -> str:
        await client.say(TEXT)
        await client.send("input_text.end")
        while NOTICE not in (event := await client.next("speech.audio.notice"))["notice"]:
            pass
        assert event["words"] == []
        assert event["speech_id"] == "speech_1"
        return (await client.next("speech.audio.done"))["status"]

    assert talk(server, conversation) == "completed"


def test_wyoming_sends_the_notices(start: Callable[..., Server]) -> None:
    server = start(wyoming_port=0)

    async def conversation() -> list[str]:
        async with AsyncTcpClient("127.0.0.1", server.wyoming.port, read_timeout=30) as client:
            await client.write_event(Synthesize(text=TEXT).event())
            while (event := await client.read_event()) is not None:
                if event.type == "audio-stop":
                    return list(event.data["notices"])
        return []

    assert any(NOTICE in notice for notice in asyncio.run(conversation()))


def test_refusal_names_language_and_script(start: Callable[..., Server]) -> None:
    """Kana are letters, so the text has some: over HTTP and over Wyoming."""
    server = start(wyoming_port=0)
    reason = "American English has no phonemes for 'こんにちは' (Japanese script)"

    async def conversation() -> str:
        async with AsyncTcpClient("127.0.0.1", server.wyoming.port, read_timeout=30) as client:
            await client.write_event(Synthesize(text="こんにちは").event())
            event = await client.read_event()
            assert event is not None
            return str(event.data["text"])

    assert reason in server.speak("こんにちは").error["message"]
    assert reason in asyncio.run(conversation())


def test_server_says_that_there_are_more_notices(server: Server) -> None:
    """It sends 50 and says so, instead of dropping the others silently."""
    text = " ".join(f"He saw 世{number}." for number in range(60))
    answer = server.speak(text, stream_format="sse")
    events = [json.loads(line[6:]) for line in answer.body.decode().splitlines() if line.startswith("data: ")]
    notices = [event["notice"] for event in events if event["type"] == "speech.audio.notice"]
    assert notices[:50] == [f"Left out: 世{number}" for number in range(50)]
    assert notices[50:] == ["There are more notices."]


def test_notices_of_a_request_reach_no_other(server: Server) -> None:
    server.speak(TEXT)
    assert NOTICE not in server.speak("Hello there.").headers.get("x-notices", "")
