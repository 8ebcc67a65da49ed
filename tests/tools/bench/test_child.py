"""Child processes: requests and answers, stopped in between; how their end is reported."""

from __future__ import annotations

import os
import signal
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tools.bench.support import fake_system

from kokoro_tvm.tools.bench.child import Child, MeasuredProcessError, environment, how_it_ended, python_module
from kokoro_tvm.tools.bench.contender import Contender

UTTERANCE = {"tokens": [0, 1, 0], "style": [0.5] * 256}


def open_child(tmp_path: Path, path: str = "") -> tuple[Child, dict[str, Any]]:
    child = Child(python_module("kokoro_tvm.tools.bench.worker"), 2, tmp_path / "log")
    return child, child.ask(vars(fake_system("one", path).engine))


def state(child: Child) -> str:
    """Return R for running, S for sleeping, T for stopped."""
    stat = Path(f"/proc/{child._process.pid}/stat").read_text(encoding="ascii")
    return stat.rpartition(")")[2].split()[0]


def test_child_answers_requests(tmp_path: Path) -> None:
    child, details = open_child(tmp_path)
    with closing(child):
        assert details == {"details": "fake, 2 threads"}
        answer = child.ask({"utterances": [UTTERANCE, UTTERANCE]})
    assert answer["samples"] == [60000, 60000]
    assert answer["components"] == {"decoder": 0.01}
    assert answer["seconds"] > 0
    assert 2**20 < answer["peak_rss_bytes"] < 2**30


def test_child_is_stopped_without_a_request(tmp_path: Path) -> None:
    child, _ = open_child(tmp_path)
    with closing(child):
        deadline = time.monotonic() + 30
        while state(child) != "T" and time.monotonic() < deadline:
            time.sleep(0.01)
        assert state(child) == "T"
        assert child.ask({"utterances": [UTTERANCE]})["samples"] == [60000]


def test_output_of_libraries_goes_to_the_log(tmp_path: Path) -> None:
    child, _ = open_child(tmp_path, "chatty")
    with closing(child):
        assert child.ask({"utterances": [UTTERANCE]})["samples"] == [60000]
    assert "libraries talk" in (tmp_path / "log").read_text()


def test_exception_is_reported_with_the_log(tmp_path: Path) -> None:
    with pytest.raises(
        MeasuredProcessError, match=r"ended with exit status 1: .*RuntimeError: this engine refuses"
    ):
        open_child(tmp_path, "refuse")


def test_signal_is_reported_by_name(tmp_path: Path) -> None:
    child, _ = open_child(tmp_path, "crash")
    with closing(child):
        for _ in range(2):  # the second time the process is gone
            with pytest.raises(MeasuredProcessError, match="ended by signal SIGSEGV"):
                child.ask({"utterances": [UTTERANCE]})


def test_close_kills_a_stopped_process(tmp_path: Path) -> None:
    child, _ = open_child(tmp_path)
    child.close()
    assert child._process.returncode == -signal.SIGKILL


def test_child_dies_with_its_parent(tmp_path: Path) -> None:
    waiting, telling = os.pipe()
    parent = os.fork()
    if parent == 0:
        child, _ = open_child(tmp_path)
        os.write(telling, f"{child._process.pid}\n".encode())
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(parent, 0)
    pid = int(os.read(waiting, 100))
    deadline = time.monotonic() + 30
    while is_running(pid) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not is_running(pid)


def is_running(pid: int) -> bool:
    """Check whether a process exists and is no zombie."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="ascii")
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rpartition(")")[2].split()[0] not in ("Z", "X")


def test_environment_sets_every_thread_pool() -> None:
    result = environment(3)
    assert {result[f"{name}_NUM_THREADS"] for name in ("TVM", "OMP", "MKL", "OPENBLAS")} == {"3"}


def test_how_it_ended_shows_the_log(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("\n".join(f"  line {i}" for i in range(9)))
    assert how_it_ended(3, log) == "ended with exit status 3: line 5 | line 6 | line 7 | line 8"
    log.write_text("")
    assert how_it_ended(-9, log) == "ended by signal SIGKILL (out of memory?): its log is empty"


def test_contender_keeps_its_problem(tmp_path: Path) -> None:
    contender = Contender.start(fake_system("artifacts/cpu", "crash"), tmp_path)
    with closing(contender.child):
        contender.open()
        assert (contender.details, contender.problem) == ("fake, 2 threads", None)
        for _ in range(2):  # the second time it is skipped
            contender.speak("short", ())
            assert contender.problem == (
                "failed on the text short: ended by signal SIGSEGV: its log is empty."
            )
    assert contender.timings == {}


def test_contender_keeps_the_problem_of_opening(tmp_path: Path) -> None:
    contender = Contender.start(fake_system("one", "refuse"), tmp_path)
    with closing(contender.child):
        contender.open()
    assert str(contender.problem).startswith("failed to open: ended with exit status 1: ")
