"""Workers: their logs and errors, every way in which they end, and their server."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection
from pathlib import Path

import pytest
from made_stages import call_in, gone

from kokoro_tvm.builder.engine import code, worker
from kokoro_tvm.builder.engine.forkserver import Job
from kokoro_tvm.builder.engine.worker import WorkerError
from kokoro_tvm.common.errors import BuildError, ValidationError


def wait_for_pids(folder: Path) -> list[int]:
    """Wait until `hang` runs, and return the process ids of its worker and of that one's child."""
    while not (folder / "pids").exists() or not (folder / "pids").read_text():
        time.sleep(0.05)
    return [int(pid) for pid in (folder / "pids").read_text().split()]


def test_worker_writes_output_to_the_log(tmp_path: Path) -> None:
    assert call_in(tmp_path, "write", file="b", text="ɹ") >= 0
    assert (tmp_path / "b").read_text(encoding="utf-8") == "ɹ"
    assert (tmp_path / "a.log").read_text() == "writing b\n"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.log", "b"]


def test_worker_passes_project_errors_on(tmp_path: Path) -> None:
    with pytest.raises(ValidationError) as caught:
        call_in(tmp_path, "refuse", message="It missed.")
    assert str(caught.value) == f"cpu.stage: It missed. Its log is {tmp_path / 'a.log'}."
    assert "Traceback" in (tmp_path / "a.log").read_text()
    assert [p.name for p in tmp_path.iterdir()] == ["a.log"]


def test_worker_error_shows_the_end_of_the_log(tmp_path: Path) -> None:
    with pytest.raises(BuildError) as caught:
        call_in(tmp_path, "stumble")
    first, *end = str(caught.value).splitlines()
    place = r"ZeroDivisionError in .*\.py, line \d+: nothing to divide by\."
    assert re.fullmatch(rf"cpu\.stage: {place} The end of its log, {tmp_path / 'a.log'}:", first)
    assert end[-1] == "    ZeroDivisionError: nothing to divide by"
    assert len(end) == 15
    assert (tmp_path / "a.log").read_text().startswith("line 0\n")


def test_worker_exit_status_is_reported(tmp_path: Path) -> None:
    with pytest.raises(BuildError, match="failed with exit status 7"):
        call_in(tmp_path, "leave", status=7)


@pytest.mark.parametrize(
    ("number", "outcome"),
    [
        (signal.SIGSEGV, "crashed (signal SIGSEGV)."),
        (signal.SIGABRT, "crashed (signal SIGABRT)."),
        (signal.SIGKILL, "was killed (signal SIGKILL), as the system does for want of memory."),
        (signal.SIGTERM, "was ended by signal SIGTERM."),
    ],
)
def test_worker_signal_is_named(tmp_path: Path, number: int, outcome: str) -> None:
    with pytest.raises(WorkerError) as caught:
        call_in(tmp_path, "die", signal=int(number))
    assert f"cpu.stage: {outcome}" in str(caught.value)
    assert str(caught.value).endswith("\n    last words")


def test_worker_reports_memory_errors(tmp_path: Path) -> None:
    with pytest.raises(WorkerError, match=r"cpu\.stage: ran out of memory\. Its log is .*a\.log\.$"):
        call_in(tmp_path, "devour")


def test_worker_reports_a_full_disk(tmp_path: Path) -> None:
    with pytest.raises(BuildError, match=r"cpu\.stage: /x/y cannot be written: the disk is full; make room"):
        call_in(tmp_path, "overflow", path="/x/y")


def test_worker_error_mentions_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = type("Usage", (), {"free": 4096})
    monkeypatch.setattr(worker.shutil, "disk_usage", lambda folder: usage)
    with pytest.raises(
        WorkerError, match=r"nothing to divide by\. The disk is full: 4,096 bytes are left in .*; make room"
    ):
        call_in(tmp_path, "stumble")


def test_timeout_kills_the_process_group(tmp_path: Path) -> None:
    with pytest.raises(WorkerError, match=r"did not end within 1 s and was stopped(.|\n)*hanging"):
        call_in(tmp_path, "hang", timeout_s=1)
    assert all(gone(pid) for pid in wait_for_pids(tmp_path))


def test_beat_is_called_while_a_worker_runs(tmp_path: Path, often: None) -> None:
    beats: list[float] = []
    call_in(tmp_path, "append", beat=beats.append, text=".")
    assert beats
    assert beats == sorted(beats)


def test_workers_run_in_parallel(tmp_path: Path) -> None:
    folders = [tmp_path / name for name in "abcd"]

    def run(folder: Path) -> None:
        call_in(folder, "append", text=folder.name)

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(run, folders))
    assert [(folder / "out.txt").read_text() for folder in folders] == list("abcd")


def test_workers_start_from_the_same_state(tmp_path: Path) -> None:
    call_in(tmp_path, "tell")
    server, word, standard_input, alone = (tmp_path / "out.txt").read_text().split("\n")
    environment = os.environ | {"PYTHONHASHSEED": "0"}
    command = [sys.executable, "-c", "print(hash('kokoro'))"]
    fixed = subprocess.check_output(command, env=environment, text=True)
    assert int(server) != os.getpid()
    assert word == fixed.strip()
    assert (standard_input, alone) == ("", "True")


def test_server_is_replaced_after_an_edit_and_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    servers = []
    for edition in (1, 1, 2):
        monkeypatch.setattr(worker, "source_stamps", lambda edition=edition: edition)
        call_in(tmp_path, "tell")
        servers.append(int((tmp_path / "out.txt").read_text().split("\n")[0]))
    assert servers[0] == servers[1] != servers[2]
    assert gone(servers[0])


def test_server_that_is_replaced_finishes_its_jobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(call_in, tmp_path, "append", text="1")
        while not (tmp_path / "a.log").exists():
            time.sleep(0.01)
        monkeypatch.setattr(worker, "source_stamps", lambda: 3)
        call_in(tmp_path / "other", "append", text="2")
        first.result()
    assert (tmp_path / "out.txt").read_text() == "1"


def test_source_stamps_change_with_every_edit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(code, "_PACKAGE", tmp_path)
    source = tmp_path / "a.py"
    source.write_text("x = 1\n")
    before, times = code.source_stamps(), source.stat()
    time.sleep(0.05)
    source.write_text("x = 2\n")
    os.utime(source, ns=(times.st_atime_ns, times.st_mtime_ns))  # the change time is another one
    assert code.source_stamps() != before
    (tmp_path / "gone.py").symlink_to(tmp_path / "nowhere")
    assert code.source_stamps() != before


def test_broken_module_fails_in_the_worker_that_imports_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "broken.py").write_text("x = (", encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    preload = ("broken", "fake_stages")
    call_in(tmp_path, "nothing", preload=preload)
    with pytest.raises(BuildError, match="SyntaxError: '\\(' was never closed"):
        call_in(tmp_path, "load", preload=preload, module="broken")


@pytest.mark.parametrize(("system", "imports"), [("linux", True), ("darwin", False)])
def test_server_on_macos_imports_nothing(system: str, imports: bool) -> None:
    start = "from kokoro_tvm.builder.engine.forkserver import main; main()"
    command = [sys.executable, "-c", f"import sys; sys.platform = {system!r}\n{start}", '["this"]']
    ours, theirs = socket.socketpair()
    ours.close()
    with theirs:
        process = subprocess.run(command, stdin=theirs, capture_output=True, text=True, check=True)
    assert ("The Zen of Python" in process.stdout) == imports


def test_slow_import_is_not_blamed_on_the_stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "endless.py").write_text("import time\ntime.sleep(2)\n", encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setattr(worker, "_IMPORT_TIMEOUT_S", 0.1)
    message = r"^cpu\.stage: the process it is forked from did not import what it needs within 0\.1 s; build"
    with pytest.raises(WorkerError, match=message):
        call_in(tmp_path, "nothing", preload=("endless", "fake_stages"))


def test_killed_server_is_reported_and_replaced(tmp_path: Path) -> None:
    call_in(tmp_path, "tell")
    server = int((tmp_path / "out.txt").read_text().split("\n")[0])
    with ThreadPoolExecutor(1) as pool:
        hanging = pool.submit(call_in, tmp_path, "hang")
        pid, _ = wait_for_pids(tmp_path)
        os.kill(server, signal.SIGKILL)
        with pytest.raises(
            BuildError, match=r"it is forked from has died\. It was killed \(signal SIGKILL\)"
        ):
            hanging.result()
    assert gone(pid)
    call_in(tmp_path, "nothing")


def test_killed_build_leaves_no_process_behind(tmp_path: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from made_stages import call_in\n"
        "call_in(Path(sys.argv[1]), 'tell')\n"
        "call_in(Path(sys.argv[1]), 'hang')"
    )
    build = subprocess.Popen([sys.executable, "-c", script, str(tmp_path)])
    pids = wait_for_pids(tmp_path)
    build.kill()
    build.wait()
    server = int((tmp_path / "out.txt").read_text().split("\n")[0])
    assert all(gone(pid) for pid in (*pids, server))


def test_server_ignores_the_job_of_a_killed_build(tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    for is_alive in (False, True):
        orders, theirs = socket.socketpair()
        ours, passed = (Connection(end.detach()) for end in socket.socketpair())
        ours.send(Job({}, str(log)))
        socket.send_fds(orders, [b"j"], [passed.fileno()])
        passed.close()
        if not is_alive:  # while the server imports
            ours.close()
        orders.close()
        command = [sys.executable, "-m", "kokoro_tvm.builder.engine.forkserver", "[]"]
        with theirs:
            subprocess.run(command, stdin=theirs, check=True, capture_output=True)
        assert log.exists() == is_alive


def test_worker_without_a_log_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "Job", lambda arguments, log: Job(arguments, "/nowhere/a.log"))
    with pytest.raises(WorkerError, match=r"Its log is empty\.(.|\n)*FileNotFoundError"):
        call_in(tmp_path, "nothing")
