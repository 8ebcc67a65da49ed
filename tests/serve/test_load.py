"""The program that puts servers under load: what it notices, and the plain server of its peers."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from aiohttp.test_utils import TestServer
from hypothesis import given
from hypothesis import strategies as st
from serving import LONG, Server

from kokoro_tvm.bench.engine import EngineSpec, Spoken, Utterance
from kokoro_tvm.bench.load.__main__ import measure
from kokoro_tvm.bench.load.drive import Answer, drive, speak_alone
from kokoro_tvm.bench.load.peer import create_peer, utterances
from kokoro_tvm.bench.load.results import Load, summary, table, write
from kokoro_tvm.bench.load.servers import Server as Process
from kokoro_tvm.bench.load.servers import command
from kokoro_tvm.bench.load.workload import WORKLOAD, Workload
from kokoro_tvm.bench.systems import System

SMALL = Workload(("He ran.", "A dog did it.", "No."), (LONG,))


def answers(server: Server, clients: int = 4, wrong: str = "") -> list[Answer]:
    """wrong: a text that is said to sound otherwise than it does."""
    url = f"{server.url}/v1/audio/speech"
    alone = asyncio.run(speak_alone(url, SMALL))
    if wrong:
        alone[wrong] = replace(alone[wrong], sha256="0")
    return asyncio.run(drive(url, SMALL, alone, clients, 0.2))


def test_every_answer_is_that_of_the_text_alone(server: Server) -> None:
    found = answers(server)
    assert len(found) >= 4
    assert {answer.problem for answer in found} == {""}
    assert all(0 < answer.first_sound <= answer.seconds for answer in found)
    assert {answer.size for answer in found if answer.text == LONG} <= {len(server.speak(LONG).body)}


def test_another_audio_is_noticed(server: Server) -> None:
    found = answers(server, wrong="No.")
    assert {answer.problem for answer in found if answer.text == "No."} == {"another"}
    assert {answer.problem for answer in found if answer.text != "No."} == {""}


def test_a_failure_and_a_cut_are_noticed(server: Server) -> None:
    url = f"{server.url}/v1/audio/speech"
    alone = asyncio.run(speak_alone(url, SMALL))
    refusing = asyncio.run(drive(f"{server.url}/v1/nothing", SMALL, alone, 1, 0.0))
    assert [answer.problem for answer in refusing] == ["status 404"]
    with_nobody = asyncio.run(drive("http://127.0.0.1:1/", SMALL, alone, 1, 0.0))
    assert [answer.problem for answer in with_nobody] == ["cut off: ClientConnectorError"]


def test_systems_take_turns(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their servers are there all the time, and each speaks every text alone once."""
    up: list[str] = []

    @contextmanager
    def started(system: System, bundle: Path, folder: Path) -> Iterator[Process]:
        up.append(system.name)
        yield Process(server.url, os.getpid())
        up.remove(system.name)

    monkeypatch.setattr("kokoro_tvm.bench.load.__main__.started", started)
    engine = EngineSpec("none", "none", 1, "float32")
    systems = [System(name, name.title(), name == "a", "float32", engine, {}, 0) for name in ("a", "b")]
    said: list[str] = []
    turns = []
    for load in measure(systems, Path(), [1, 3], 0.0, SMALL, said.append):
        assert up == ["a", "b"]
        assert load.requests == load.clients
        assert load.problems == {}
        turns.append((load.system, load.clients))
    assert turns == [("A", 1), ("B", 1), ("B", 3), ("A", 3)]
    assert said[:2] == ["A: every text alone", "B: every text alone"]
    assert up == []


def test_a_workload_without_pages() -> None:
    drawn = Workload(SMALL.sentences, ()).requests(1)
    assert {next(drawn) for _ in range(50)} == set(SMALL.sentences)


def test_figures(tmp_path: Path) -> None:
    good = [Answer("a", value / 100, 2.0, 48_000, "") for value in range(1, 101)]
    found = summary(
        "ours", 8, 50.0, [*good, Answer("b", 9.0, 9.0, 3, "status 429")], (1_000_000, 1_100_000), 25.0
    )
    assert (found.requests, found.requests_a_minute, found.rate) == (101, 120.0, 2.0)
    assert found.first_sound == pytest.approx((0.505, 0.9505, 0.9901))
    assert found.problems == {"status 429": 1}
    assert "| ours | 8 | 120.0 | 2.00 | 0.25 | 0.51, 0.95, 0.99 | 1 status 429 | 1 → 1 |" in table([found])
    write(tmp_path / "load.json", [found])
    assert '"requests": 101' in (tmp_path / "load.json").read_text()
    nothing = summary("ours", 1, 1.0, [], (None, None))
    assert nothing == Load("ours", 1, 1.0, 0, 0.0, 0.0, None, {}, (None, None), None)
    assert "| unknown | none | none | unknown → unknown |" in table([nothing])


def test_the_workload_is_sentences_and_pages_and_the_same_each_time() -> None:
    first = WORKLOAD.requests(3)
    drawn = [next(first) for _ in range(300)]
    again = WORKLOAD.requests(3)
    assert drawn == [next(again) for _ in range(300)]
    pages = [text for text in drawn if text in WORKLOAD.pages]
    assert 30 < len(pages) < 90
    assert len(set(WORKLOAD.texts)) == 28
    assert min(map(len, WORKLOAD.pages)) > 10 * max(map(len, WORKLOAD.sentences))


class FakeEngine:
    """A hundred samples for each utterance; notices when two speak at a time."""

    details = "fake"

    def __init__(self) -> None:
        self._alone = threading.Lock()

    def speak(self, utterances: Sequence[Utterance]) -> Spoken:
        assert self._alone.acquire(blocking=False)
        audio = [np.full(100, utterance.tokens[0] / 100, np.float32) for utterance in utterances]
        self._alone.release()
        return Spoken(audio)


def test_a_peer_has_the_same_interface() -> None:
    def read(text: str) -> list[Utterance]:
        return [Utterance((len(word),), ()) for word in text.split()]

    async def run() -> tuple[list[Answer], int]:
        async with TestServer(create_peer(FakeEngine(), read)) as peer:
            url = str(peer.make_url("/v1/audio/speech"))
            alone = await speak_alone(url, SMALL)
            return await drive(url, SMALL, alone, 3, 0.05, exact=False), alone["He ran."].size

    found, size = asyncio.run(run())
    assert {answer.problem for answer in found} == {""}
    assert size == 2 * 200


@given(st.text(st.sampled_from("ab .!?"), max_size=3000))
def test_utterances_are_as_long_as_a_model_takes_and_lose_nothing(phonemes: str) -> None:
    parts = list(utterances(phonemes))
    assert all(0 < len(part) <= 510 for part in parts)
    assert "".join("".join(parts).split()) == "".join(phonemes.split())


def test_commands(tmp_path: Path) -> None:
    engine = EngineSpec("kokoro_tvm.bench.engines.stock", "model", 2, "float32")
    ours = System("cpu", "kokoro-tvm cpu", True, "float32", engine, {}, 0)
    assert command(ours, Path("b"), 7, tmp_path)[3:] == ["serve", "--bundle", "model", "--port", "7"]
    request = Path(command(replace(ours, ours=False, name="pytorch"), Path("b"), 7, tmp_path)[-1])
    assert '"bundle": "b", "port": 7' in request.read_text()


def test_memory() -> None:
    size = Process("", os.getpid()).memory
    assert size is None or size > 1_000_000
    assert Process("", 1 << 30).memory is None


def test_computing_time() -> None:
    before = Process("", os.getpid()).cpu
    if before is None:
        pytest.skip("this system does not tell how long a process has computed")
    limit = time.process_time() + 0.05
    while time.process_time() < limit:
        pass
    after = Process("", os.getpid()).cpu
    assert after is not None
    assert after > before
    assert Process("", 1 << 30).cpu is None
