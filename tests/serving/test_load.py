"""Servers under load: what clients check, how turns are taken, and the plain server of peers."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from aiohttp.test_utils import TestServer
from hypothesis import given
from hypothesis import strategies as st
from refresh import put_load
from serving import LONG, Server, wait_for

from kokoro_tvm.builder.diagnostics.hardware import MachineInfo
from kokoro_tvm.common.errors import InputError
from kokoro_tvm.tools.bench.engine import BenchUtterance, EngineOutput, EngineSpec
from kokoro_tvm.tools.bench.load import __main__ as loading
from kokoro_tvm.tools.bench.load.__main__ import measure
from kokoro_tvm.tools.bench.load.drive import ClientResponse, drive, speak_alone
from kokoro_tvm.tools.bench.load.peer import create_peer, divide
from kokoro_tvm.tools.bench.load.results import (
    Load,
    LoadResult,
    Turn,
    rows,
    summarize_turns,
    table,
)
from kokoro_tvm.tools.bench.load.servers import BenchServer, server_command
from kokoro_tvm.tools.bench.load.workload import WORKLOAD, Workload
from kokoro_tvm.tools.bench.systems import System

PAGE = Path(__file__).parents[2] / "docs/lab/serving.md"
SMALL = Workload(("He ran.", "A dog did it.", "No."), (LONG,))


def drive_clients(server: Server, clients: int = 4, wrong: str = "") -> list[ClientResponse]:
    """Drive clients; `wrong` is a text with another expected digest."""
    url = f"{server.url}/v1/audio/speech"
    alone = asyncio.run(speak_alone(url, SMALL))
    if wrong:
        alone[wrong] = replace(alone[wrong], sha256="0")
    return asyncio.run(drive(url, SMALL, alone, clients, 0.2))


def test_responses_equal_the_text_alone(server: Server) -> None:
    responses = drive_clients(server)
    assert len(responses) >= 4
    assert {answer.problem for answer in responses} == {""}
    assert all(0 < answer.first_sound <= answer.seconds for answer in responses)
    assert {answer.size for answer in responses if answer.text == LONG} <= {len(server.speak(LONG).body)}


def test_drive_detects_other_audio(server: Server) -> None:
    responses = drive_clients(server, wrong="No.")
    assert {answer.problem for answer in responses if answer.text == "No."} == {"another"}
    assert {answer.problem for answer in responses if answer.text != "No."} == {""}


def test_drive_detects_failures(server: Server) -> None:
    url = f"{server.url}/v1/audio/speech"
    alone = asyncio.run(speak_alone(url, SMALL))
    refusing = asyncio.run(drive(f"{server.url}/v1/nothing", SMALL, alone, 1, 0.0))
    assert [answer.problem for answer in refusing] == ["status 404"]
    with_nobody = asyncio.run(drive("http://127.0.0.1:1/", SMALL, alone, 1, 0.0))
    assert [answer.problem for answer in with_nobody] == ["cut off: ClientConnectorError"]


class OwnServer(BenchServer):
    """The server of this process, which cannot be stopped."""

    stopped = staticmethod(nullcontext)


def test_interrupted_run_keeps_its_turns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    load = summarize_turns(
        "ours", True, 2, [Turn([ClientResponse("a", 0.5, 1.0, 48_000, "")], 10.0, (100, 110), 1.0)]
    )

    def interrupted(*arguments: object) -> Iterator[Load]:
        yield load
        raise KeyboardInterrupt

    monkeypatch.setattr(loading, "measure", interrupted)
    monkeypatch.setattr(loading, "read_bundle", lambda path: SimpleNamespace(model="kokoro-82m"))
    monkeypatch.setattr(loading, "bundle_systems", lambda bundles, threads: [])
    with pytest.raises(KeyboardInterrupt):
        loading.main(tmp_path, against="none", clients="2", rounds=3, json=tmp_path / "load.json")
    result = LoadResult.read(tmp_path / "load.json")
    assert (result.complete, result.loads) == (False, (load,))
    assert table([load]) in capsys.readouterr().out


def test_systems_take_turns(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """All servers run all the time, and each speaks every text alone once."""
    up: list[str] = []

    @contextmanager
    def run_server(system: System, bundle: Path, folder: Path) -> Iterator[BenchServer]:
        up.append(system.name)
        yield OwnServer(server.url, os.getpid())
        up.remove(system.name)

    monkeypatch.setattr("kokoro_tvm.tools.bench.load.__main__.run_server", run_server)
    engine = EngineSpec("none", "none", 1, "float32")
    systems = [System(name, name.title(), name == "a", "float32", engine, (), {}, 0) for name in ("a", "b")]
    log: list[str] = []
    turns = []
    for load in measure(systems, Path(), [(1, 0), (3, 0), (3, 2)], 0.0, 2, SMALL, log.append):
        assert up == ["a", "b"]
        assert load.requests == load.clients * len(load.rounds)
        assert load.ours is (load.system == "A")
        assert load.problems == {}
        turns.append((load.system, load.clients, load.hostile, len(load.rounds)))
    first = [("A", 1, 0, 1), ("B", 1, 0, 1), ("B", 3, 0, 1), ("A", 3, 0, 1), ("A", 3, 2, 1)]
    second = [("B", 1, 0, 2), ("A", 1, 0, 2), ("A", 3, 0, 2), ("B", 3, 0, 2), ("A", 3, 2, 2)]
    assert turns == first + second
    assert log[:3] == ["A: every text alone", "B: every text alone", "A: 1 clients, round 1 of 2"]
    assert up == []


def test_stopped_stops_the_process() -> None:
    if not Path("/proc/self/stat").is_file():
        pytest.skip("the state of a process is unknown")
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:

        def state() -> str:
            return Path(f"/proc/{process.pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]

        with BenchServer("", process.pid).stopped():
            wait_for(lambda: state() == "T")
        wait_for(lambda: state() != "T")
        process.communicate(b"\n", timeout=30)


def test_rounds_have_different_texts(server: Server) -> None:
    url = f"{server.url}/v1/audio/speech"
    alone = asyncio.run(speak_alone(url, SMALL))
    spoken = [
        [answer.text for answer in asyncio.run(drive(url, SMALL, alone, 6, 0.0, first=first))]
        for first in (0, 0, 6)
    ]
    assert spoken[0] == spoken[1] != spoken[2]


def test_workload_without_pages() -> None:
    drawn = Workload(SMALL.sentences, ()).requests(1)
    assert {next(drawn) for _ in range(50)} == set(SMALL.sentences)


GOOD = [ClientResponse("a", value / 100, 2.0, 48_000, "") for value in range(1, 101)]
TURNS = [
    Turn(GOOD[::2], 20.0, (1_000_000, 1_050_000), 15.0),
    Turn([*GOOD[1::2], ClientResponse("b", 9.0, 9.0, 3, "status 429")], 30.0, (1_050_000, 1_100_000), 10.0),
]


def test_summarize_turns_covers_all_rounds() -> None:
    load = summarize_turns("ours", True, 8, TURNS)
    assert (load.requests, load.requests_a_minute, load.rate, load.seconds) == (101, 120.0, 2.0, 50.0)
    assert load.first_sound == pytest.approx((0.505, 0.9505, 0.9901))
    assert load.problems == {"status 429": 1}
    assert load.rounds == (150.0, 100.0)
    assert load.memory == (1_000_000, 1_100_000)
    assert load.cpu == 0.25
    line = "| **ours**, 8 | 120.0 (100.0 to 150.0) | 2.00 | 0.25 | 0.51 s | 0.95 s | 0.99 s "
    assert f"{line}| 1 status 429 | 1 → 1 MB |" in table([load])


def test_summarize_turns_without_responses() -> None:
    nothing = summarize_turns("peer", False, 1, [Turn([], 1.0, (1_000_000, 1_000_000), 0.0)])
    assert (nothing.requests, nothing.first_sound, nothing.cpu) == (0, None, None)
    assert "| peer, 1 | 0.0 | 0.00 | – | – | – | – | none | 1 → 1 MB |" in table([nothing])


def test_rows_are_sorted_by_numbers_of_clients() -> None:
    loads = [summarize_turns(name, False, clients, TURNS) for name in "ab" for clients in (1, 8)]
    loads.append(summarize_turns("a", True, 1, TURNS, hostile=2))
    assert [line[0] for line in rows(loads)][1:] == ["a, 1", "b, 1", "**a**, 1 + 2 hostile", "a, 8", "b, 8"]


def result_of(loads: Sequence[Load]) -> LoadResult:
    machine = MachineInfo(cpu="A", cores=2, memory_bytes=1 << 30, system="Linux 6", python="3.11")
    fields: dict[str, Any] = {"date": "2026-01-02", "machine": machine, "threads": 2, "rounds": 2}
    fields |= {"seconds": 25.0, "sentences": 9, "pages": 1, "complete": True, "others_cores": 0.25}
    return LoadResult(**fields, loads=tuple(loads))


def test_put_load_writes_the_table(tmp_path: Path) -> None:
    file, page = tmp_path / "load.json", tmp_path / "page.md"
    result = result_of([summarize_turns("ours", True, 8, TURNS)])
    result.write(file)
    assert LoadResult.read(file) == result
    markers = ("load-machine", "load")
    page.write_text("".join(f"<!-- {name} -->\n<!-- /{name} -->\n" for name in markers), encoding="utf-8")
    put_load(page, file)
    text = page.read_text(encoding="utf-8")
    assert (
        "A, 2 cores, 1 GiB, Linux 6, Python 3.11; 2 threads. Each server for 25 s in each of 2 rounds, "
        in text
    )
    assert "9 sentences and 1 pages. Others kept 0.25 cores busy. 2026-01-02." in text
    assert "| **ours**, 8 | 120.0 (100.0 to 150.0) |" in text
    assert "cut off" not in text
    result.model_copy(update={"complete": False}).write(file)
    put_load(page, file)
    assert "The run was cut off before its last round." in page.read_text(encoding="utf-8")
    assert {f"<!-- {name} -->" for name in markers} <= set(PAGE.read_text(encoding="utf-8").splitlines())


def test_read_refuses_other_files(tmp_path: Path) -> None:
    file = tmp_path / "load.json"
    with pytest.raises(InputError, match=r"cannot be read: No such file.*bench\.load` writes it"):
        LoadResult.read(file)
    file.write_text("[]", encoding="utf-8")
    with pytest.raises(InputError, match="no result of this version"):
        LoadResult.read(file)
    with pytest.raises(InputError, match=r"cannot be written: Is a directory\. Name another file\."):
        result_of([]).write(tmp_path)


def test_workload_is_deterministic() -> None:
    first = WORKLOAD.requests(3)
    drawn = [next(first) for _ in range(300)]
    again = WORKLOAD.requests(3)
    assert drawn == [next(again) for _ in range(300)]
    pages = [text for text in drawn if text in WORKLOAD.pages]
    assert 30 < len(pages) < 90
    assert len(set(WORKLOAD.texts)) == 28
    assert min(map(len, WORKLOAD.pages)) > 10 * max(map(len, WORKLOAD.sentences))


class FakeEngine:
    """Returns a hundred samples for each utterance; fails if two requests overlap."""

    details = "fake"

    def __init__(self) -> None:
        self._lock = threading.Lock()

    def speak(self, utterances: Sequence[BenchUtterance]) -> EngineOutput:
        assert self._lock.acquire(blocking=False)
        audio = [np.full(100, utterance.tokens[0] / 100, np.float32) for utterance in utterances]
        self._lock.release()
        return EngineOutput(audio)


def test_peer_has_the_same_interface() -> None:
    def read(text: str) -> list[BenchUtterance]:
        return [BenchUtterance((len(word),), ()) for word in text.split()]

    async def run() -> tuple[list[ClientResponse], int]:
        async with TestServer(create_peer(FakeEngine(), read)) as peer:
            url = str(peer.make_url("/v1/audio/speech"))
            alone = await speak_alone(url, SMALL)
            return await drive(url, SMALL, alone, 3, 0.05, exact=False), alone["He ran."].size

    responses, size = asyncio.run(run())
    assert {answer.problem for answer in responses} == {""}
    assert size == 2 * 200


@given(st.text(st.sampled_from("ab .!?"), max_size=3000))
def test_divide_keeps_every_symbol(phonemes: str) -> None:
    parts = list(divide(phonemes))
    assert all(0 < len(part) <= 510 for part in parts)
    assert "".join("".join(parts).split()) == "".join(phonemes.split())


def test_server_command() -> None:
    engine = EngineSpec("some.engine:opened", "model", 2, "float32")
    ours = System("cpu", "kokoro-tvm cpu", True, "float32", engine, (), {}, 0)
    assert server_command(ours, Path("b"), 7)[3:] == ["serve", "--bundle", "model", "--port", "7"]
    request = server_command(replace(ours, ours=False, name="pytorch"), Path("b"), 7)[-1]
    assert '"bundle": "b", "port": 7' in request


def test_server_memory_and_cpu_time() -> None:
    server = BenchServer("", os.getpid())
    assert server.memory > 1_000_000
    before = server.cpu
    limit = time.process_time() + 0.05
    while time.process_time() < limit:
        pass
    assert server.cpu > before
