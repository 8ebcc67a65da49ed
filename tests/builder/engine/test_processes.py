"""Jobs in forked processes."""

from __future__ import annotations

import faulthandler
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from made_stages import gone

from kokoro_tvm.builder.engine.processes import run_forked
from kokoro_tvm.common.errors import BuildError


@pytest.mark.parametrize("processes", [1, 3, 20])
def test_run_forked_runs_each_job_in_its_own_process(processes: int, tmp_path: Path) -> None:
    names = [f"job-{number}" for number in range(7)]
    done: list[str] = []

    def job(name: str) -> None:
        (tmp_path / name).write_text(str(os.getpid()), encoding="utf-8")

    run_forked(job, names, processes, lambda name, seconds: done.append(name))
    pids = {(tmp_path / name).read_text(encoding="utf-8") for name in names}
    assert len(pids) == 7
    assert str(os.getpid()) not in pids
    assert sorted(done) == names


@pytest.mark.parametrize("processes", [1, 2, 3])
def test_run_forked_limits_parallel_jobs(processes: int, tmp_path: Path) -> None:
    """The first jobs wait for each other, so fewer would never end; their times show that no more ran."""
    first = [str(number) for number in range(processes)]

    def job(name: str) -> None:
        began = time.monotonic()
        (tmp_path / name).touch()
        while name in first and not all((tmp_path / other).exists() for other in first):
            time.sleep(0.01)
        (tmp_path / f"{name}.times").write_text(f"{began} {time.monotonic()}", encoding="utf-8")

    run_forked(job, [*first, "a", "b", "c"], processes)
    spans = [p.read_text(encoding="utf-8").split() for p in tmp_path.glob("*.times")]
    assert len(spans) == processes + 3
    for began, _ in spans:
        assert sum(float(b) <= float(began) < float(e) for b, e in spans) <= processes


def test_run_forked_starts_jobs_from_the_same_state(tmp_path: Path) -> None:
    state: list[str] = []

    def job(name: str) -> None:
        state.append(name)
        (tmp_path / name).write_text(",".join(state), encoding="utf-8")

    run_forked(job, ["a", "b", "c"], 1)
    assert [(tmp_path / name).read_text(encoding="utf-8") for name in "abc"] == ["a", "b", "c"]
    assert state == []


def fail(name: str) -> None:
    raise ValueError("no such register")


def crash(name: str) -> None:
    faulthandler.disable()  # its report would be all that is seen of this test
    os.kill(os.getpid(), signal.SIGSEGV)


def lack_memory(name: str) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def leave(name: str) -> None:
    os._exit(7)


@pytest.mark.parametrize(
    ("misbehave", "message"),
    [
        (fail, r"^bad: ValueError: no such register\.$"),
        (crash, r"^bad: its process crashed \(signal SIGSEGV\)\.$"),
        (lack_memory, r"^bad: its process was killed \(signal SIGKILL\), .*want of memory\.$"),
        (leave, r"^bad: its process failed with exit status 7\.$"),
    ],
)
def test_run_forked_kills_others_after_a_failure(
    misbehave: Callable[[str], None], message: str, tmp_path: Path
) -> None:
    def job(name: str) -> None:
        if name == "bad":
            while not (tmp_path / "slow").exists():
                time.sleep(0.01)
            misbehave(name)
        (tmp_path / name).write_text(str(os.getpid()), encoding="utf-8")
        time.sleep(600)

    with pytest.raises(BuildError, match=message):
        run_forked(job, ["slow", "bad", "never"], 2)
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "slow").read_text(encoding="utf-8")), 0)
    assert not (tmp_path / "never").exists()


def test_run_forked_cuts_long_messages() -> None:
    """A message of any length arrives, cut."""

    def job(name: str) -> None:
        raise ValueError("x" * 1_000_000)

    with pytest.raises(BuildError) as caught:
        run_forked(job, ["bad"], 1)
    assert 1000 < len(str(caught.value)) < 10_000


_FORKS = """
import sys, time, os
from pathlib import Path
from kokoro_tvm.builder.engine.processes import run_forked
def job(name):
    Path(sys.argv[1], name).write_text(str(os.getpid()))
    time.sleep(600)
run_forked(job, ["a", "b"], 2)
"""


@pytest.mark.parametrize("system", ["linux", "elsewhere"])
def test_forked_jobs_end_with_their_parent(system: str, tmp_path: Path) -> None:
    if system == "linux" != sys.platform:
        pytest.skip("only Linux ends a process with its parent")
    code = f"import sys; sys.platform = {system!r}\n{_FORKS}"
    parent = subprocess.Popen([sys.executable, "-c", code, str(tmp_path)])
    pids = [int(wait_for(tmp_path / name)) for name in "ab"]
    parent.kill()
    parent.wait()
    assert all(gone(pid) for pid in pids)


def test_run_forked_forks_nothing_on_macos(monkeypatch: pytest.MonkeyPatch) -> None:
    """Jobs run in this process, in order, with the same error messages."""
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.delattr(os, "fork")
    ran: list[str] = []
    done: list[str] = []
    run_forked(ran.append, ["a", "b", "c"], 2, lambda name, seconds: done.append(name))
    assert ran == done == ["a", "b", "c"]

    def job(name: str) -> None:
        ran.append(name)
        raise ValueError("no such kernel" + "!" * 1_000_000)

    with pytest.raises(BuildError, match="bad: ValueError: no such kernel") as caught:
        run_forked(job, ["bad", "never"], 2)
    assert ran[3:] == ["bad"]
    assert len(str(caught.value)) < 10_000


def wait_for(path: Path) -> str:
    while not (path.is_file() and path.read_text(encoding="utf-8")):
        time.sleep(0.02)
    return path.read_text(encoding="utf-8")
