"""What Home Assistant's integration of Wyoming does, by the client that it uses: the package `wyoming`.

Its way was read in homeassistant/components/wyoming (data.py, tts.py), not run.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from serving import LONG, Server
from wyoming.audio import AudioChunk, AudioStart, AudioStop
from wyoming.client import AsyncTcpClient
from wyoming.info import Describe, Info, TtsProgram
from wyoming.tts import (
    Synthesize,
    SynthesizeChunk,
    SynthesizeStart,
    SynthesizeStop,
    SynthesizeStopped,
    SynthesizeVoice,
)

DESCRIBED_WITHIN = 1.0  # seconds, after which it says that it cannot connect
ADAM = SynthesizeVoice(name="am_adam")


@pytest.fixture
def server(start: Callable[..., Server]) -> Server:
    return start(wyoming_port=0)


def client_of(server: Server) -> AsyncTcpClient:
    return AsyncTcpClient("127.0.0.1", server.wyoming.port, read_timeout=30)


async def described(server: Server) -> TtsProgram:
    """The program that it makes an entity of: the first that is installed."""
    async with client_of(server) as client:
        await client.write_event(Describe().event())
        while True:
            event = await asyncio.wait_for(client.read_event(), DESCRIBED_WITHIN)
            assert event is not None
            if Info.is_type(event.type):
                return next(program for program in Info.from_event(event).tts if program.installed)


def test_describe_lists_voices_by_language(server: Server) -> None:
    program = asyncio.run(described(server))
    assert program.name == "toy"
    assert program.supports_synthesize_streaming
    voices: dict[str, list[str]] = {}
    for voice in program.voices:
        assert voice.installed
        for language in voice.languages:
            voices.setdefault(language, []).append(voice.name)
    assert voices["en-US"] == ["af_heart", "am_adam"]
    assert voices["en-GB"] == ["bf_emma"]
    assert program.voices[1].description == "am_adam (American English, male)"


def test_describe_is_answered_during_other_speeches(server: Server) -> None:
    server.runner.close_after(0)

    async def conversation() -> str:
        async with client_of(server) as client:
            await client.write_event(Synthesize(LONG).event())
            await asyncio.to_thread(server.runner.waiting.acquire)
            program = await described(server)
            server.runner.gate.set()
            return program.name

    assert asyncio.run(conversation()) == "toy"


async def of_a_language_model(text: str, heard: asyncio.Event | None = None) -> AsyncIterator[str]:
    """The text word by word; where `heard` is given, its last words come when audio was heard."""
    words = text.split(" ")
    for number, word in enumerate(words):
        if heard is not None and number == len(words) - 2:
            await asyncio.wait_for(heard.wait(), 30)
        yield word if number == 0 else f" {word}"


def test_streamed_message_is_spoken(server: Server) -> None:
    """It sends words as they come, then all of them once more for servers that do not stream, and reads audio
    at the same time, until `synthesize-stopped`."""

    async def conversation() -> tuple[list[str], bytes]:
        heard = asyncio.Event()
        kinds: list[str] = []
        audio = b""
        async with client_of(server) as client:

            async def write() -> None:
                await client.write_event(SynthesizeStart(voice=ADAM).event())
                message = ""
                async for part in of_a_language_model(LONG, heard):
                    message += part
                    await client.write_event(SynthesizeChunk(text=part).event())
                await client.write_event(Synthesize(text=message, voice=ADAM).event())
                await client.write_event(SynthesizeStop().event())

            writing = asyncio.create_task(write())
            while (event := await client.read_event()) is not None:
                if kinds[-1:] != [event.type]:
                    kinds.append(event.type)
                if AudioStart.is_type(event.type):
                    assert AudioStart.from_event(event).rate == 24000
                elif AudioChunk.is_type(event.type):
                    audio += AudioChunk.from_event(event).audio
                    heard.set()
                elif SynthesizeStopped.is_type(event.type):
                    break
            await writing
        return kinds, audio

    kinds, audio = asyncio.run(conversation())
    assert kinds == ["audio-start", "audio-chunk", "audio-stop", "synthesize-stopped"]
    assert audio == server.expected(LONG, "am_adam")


def test_consecutive_and_simultaneous_speeches_are_complete(server: Server) -> None:
    """It opens a connection for each, and several satellites may speak."""

    async def one(text: str) -> bytes:
        audio = b""
        async with client_of(server) as client:
            await client.write_event(Synthesize(text=text, voice=ADAM).event())
            while (event := await client.read_event()) is not None and not AudioStop.is_type(event.type):
                audio += event.payload or b""
        return audio

    async def several() -> list[Any]:
        return await asyncio.gather(*map(one, texts))

    texts = [f"{word} {LONG}" for word in ("Bad", "Dog", "Cab")]
    for _ in range(2):
        assert asyncio.run(several()) == [server.expected(text, "am_adam") for text in texts]


def test_docs_name_the_port_of_wyoming() -> None:
    page = (Path(__file__).parents[2] / "docs/clients.md").read_text(encoding="utf-8")
    section = page.partition("## Home Assistant\n")[2].partition("\n## ")[0]
    assert "--wyoming-port 10200" in section
    assert "KOKORO_TVM_SERVE_WYOMING_PORT=10200" in section
    assert "port 10200" in section
