"""Children: what they do, and every way in which they end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from made_stages import call_in, gone

from kokoro_tvm.builder.engine import child, code
from kokoro_tvm.builder.engine.child import WorkerError
from kokoro_tvm.builder.engine.forkserver import order
from kokoro_tvm.common.errors import BuildError, ValidationError


def test_its_output_is_in_the_log(tmp_path: Path) -> None:
    assert call_in(tmp_path, "write", file="b", text="ɹ") >= 0
    assert (tmp_path / "b").read_text(encoding="utf-8") == "ɹ"
    assert (tmp_path / "a.log").read_text() == "writing b\n"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.log", "b"]


def test_an_error_of_ours_comes_through(tmp_path: Path) -> None:
    with pytest.raises(ValidationError) as caught:
        call_in(tmp_path, "refuse", message="It missed.")
    assert str(caught.value) == f"cpu.stage: It missed. Its log is {tmp_path / 'a.log'}."
    assert "Traceback" in (tmp_path / "a.log").read_text()
    assert [p.name for p in tmp_path.iterdir()] == ["a.log"]


def test_any_other_exception_shows_the_end_of_the_log(tmp_path: Path) -> None:
    with pytest.raises(BuildError) as caught:
        call_in(tmp_path, "stumble")
    first, *end = str(caught.value).splitlines()
    assert first == f"cpu.stage: failed with exit status 1. The end of its log, {tmp_path / 'a.log'}:"
    assert end[-1] == "    ZeroDivisionError: nothing to divide by"
    assert len(end) == 15
    assert (tmp_path / "a.log").read_text().startswith("line 0\n")


def test_exit_status(tmp_path: Path) -> None:
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
def test_a_signal(tmp_path: Path, number: int, outcome: str) -> None:
    with pytest.raises(WorkerError) as caught:
        call_in(tmp_path, "die", signal=int(number))
    assert f"cpu.stage: {outcome}" in str(caught.value)
    assert str(caught.value).endswith("\n    last words")


def test_the_system_says_whom_it_killed_for_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kills = iter((3, 4))
    monkeypatch.setattr(child, "_memory_kills", lambda: next(kills))
    with pytest.raises(WorkerError, match="was killed by the system for want of memory; close something"):
        call_in(tmp_path, "die", signal=int(signal.SIGKILL))


def test_memory_that_python_does_not_get(tmp_path: Path) -> None:
    with pytest.raises(WorkerError, match=r"cpu\.stage: ran out of memory\. Its log is .*a\.log\.$"):
        call_in(tmp_path, "devour")


def test_a_disk_that_is_full(tmp_path: Path) -> None:
    with pytest.raises(BuildError, match=r"cpu\.stage: /x/y cannot be written: the disk is full; make room"):
        call_in(tmp_path, "overflow", path="/x/y")


def test_a_disk_that_is_full_and_nobody_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = type("Usage", (), {"free": 4096})
    monkeypatch.setattr(child.shutil, "disk_usage", lambda folder: usage)
    with pytest.raises(
        WorkerError, match=r"exit status 1\. The disk is full: 4,096 bytes are left in .*; make room"
    ):
        call_in(tmp_path, "stumble")


def test_a_timeout_ends_it_and_what_it_started(tmp_path: Path) -> None:
    with pytest.raises(WorkerError, match=r"did not end within 1 s and was stopped(.|\n)*hanging"):
        call_in(tmp_path, "hang", timeout_s=1)
    for pid in (tmp_path / "pids").read_text().split():
        assert gone(int(pid))


def test_signs_of_life(tmp_path: Path, often: None) -> None:
    heard: list[float] = []
    call_in(tmp_path, "append", beat=heard.append, text=".")
    assert heard
    assert heard == sorted(heard)


def test_two_at_once(tmp_path: Path) -> None:
    folders = [tmp_path / name for name in "abcd"]

    def both(folder: Path) -> None:
        call_in(folder, "append", text=folder.name)

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(both, folders))
    assert [(folder / "out.txt").read_text() for folder in folders] == list("abcd")


def test_every_child_starts_alike(tmp_path: Path) -> None:
    call_in(tmp_path, "tell")
    server, word, standard_input, alone = (tmp_path / "out.txt").read_text().split("\n")
    environment = os.environ | {"PYTHONHASHSEED": "0"}
    command = [sys.executable, "-c", "print(hash('kokoro'))"]
    fixed = subprocess.check_output(command, env=environment, text=True)
    assert int(server) != os.getpid()
    assert word == fixed.strip()
    assert (standard_input, alone) == ("", "True")


def test_an_edited_source_file_means_a_new_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    servers = []
    for edition in (1, 1, 2):
        monkeypatch.setattr(child, "source_stamps", lambda edition=edition: edition)
        call_in(tmp_path, "tell")
        servers.append((tmp_path / "out.txt").read_text().split("\n")[0])
    assert servers[0] == servers[1] != servers[2]


def test_an_edit_that_keeps_a_files_times_is_an_edit_and_a_file_that_goes_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(code, "_PACKAGE", tmp_path)
    source = tmp_path / "a.py"
    source.write_text("x = 1\n")
    before, times = code.source_stamps(), source.stat()
    time.sleep(0.05)
    source.write_text("x = 2\n")
    os.utime(source, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert code.source_stamps() != before
    (tmp_path / "gone.py").symlink_to(tmp_path / "nowhere")
    assert code.source_stamps() != before


def test_a_watcher_that_takes_its_time_to_say_how_it_ended_is_believed(
    tmp_path: Path, often: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The child is gone by then, as on a machine that is busy with other things."""
    outcome = child._Server._listen

    def late(server: Any) -> None:
        stdout = server._process.stdout
        server._process.stdout = (line for line in stdout if not (b"status" in line and time.sleep(1.5)))
        outcome(server)

    monkeypatch.setattr(child._Server, "_listen", late)
    monkeypatch.setattr(child, "source_stamps", lambda: 1)  # a server of its own
    call_in(tmp_path, "append", text=".")
    assert (tmp_path / "out.txt").read_text() == "."


def test_a_module_that_cannot_be_imported_fails_where_it_is_needed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "broken.py").write_text("x = (", encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    preload = ("broken", "fake_stages")
    call_in(tmp_path, "nothing", preload=preload)
    with pytest.raises(BuildError, match="SyntaxError: '\\(' was never closed"):
        call_in(tmp_path, "load", preload=preload, module="broken")


@pytest.mark.parametrize(("system", "imports"), [("linux", True), ("darwin", False)])
def test_a_server_on_macos_imports_nothing(system: str, imports: bool) -> None:
    """What the frameworks under torch and TVM have begun is lost in a fork, and a child that uses them
    crashes."""
    start = "from kokoro_tvm.builder.engine.forkserver import main; main()"
    code = f"import sys; sys.platform = {system!r}\n{start}"
    command = [sys.executable, "-c", code, '["this"]', str(os.getpid())]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True)
    assert ("The Zen of Python" in done.stderr) == imports


def test_a_server_that_imports_for_too_long_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not the stage that took its time."""
    (tmp_path / "endless.py").write_text("import time\ntime.sleep(2)\n", encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setattr(child, "_PATIENCE", 0.1)
    monkeypatch.setattr(child, "_BEAT", 0.1)
    message = r"^cpu\.stage: the process it is forked from did not import what it needs within 0\.1 s; build"
    with pytest.raises(WorkerError, match=message):
        call_in(tmp_path, "nothing", preload=("endless", "fake_stages"))


def test_a_server_that_is_killed_is_reported_and_replaced(tmp_path: Path) -> None:
    call_in(tmp_path, "tell")
    server = int((tmp_path / "out.txt").read_text().split("\n")[0])
    with ThreadPoolExecutor(1) as pool:
        hanging = pool.submit(call_in, tmp_path, "hang")
        while not (tmp_path / "pids").exists() or not (tmp_path / "pids").read_text():
            time.sleep(0.05)
        os.kill(server, signal.SIGKILL)
        with pytest.raises(
            BuildError, match=r"it is forked from has died\. It was killed \(signal SIGKILL\)"
        ):
            hanging.result()
    assert gone(int((tmp_path / "pids").read_text().split()[0]))
    call_in(tmp_path, "nothing")


def test_a_watcher_that_is_killed_takes_its_child_along(
    tmp_path: Path, often: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(child, "_LAST_WORD", 0.5)
    with ThreadPoolExecutor(1) as pool:
        hanging = pool.submit(call_in, tmp_path, "hang")
        while not (tmp_path / "pids").exists() or not (tmp_path / "pids").read_text():
            time.sleep(0.05)
        alone = int((tmp_path / "pids").read_text().split()[0])
        watcher = int(Path(f"/proc/{alone}/stat").read_text().rpartition(")")[2].split()[1])
        os.kill(watcher, signal.SIGKILL)
        with pytest.raises(WorkerError, match=r"cpu\.stage: was killed"):
            hanging.result()
    assert gone(alone)


def test_a_build_that_is_killed_leaves_nobody_behind(tmp_path: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from made_stages import call_in\n"
        "call_in(Path(sys.argv[1]), 'hang')"
    )
    pids = tmp_path / "pids"
    build = subprocess.Popen([sys.executable, "-c", script, str(tmp_path)])
    while not pids.exists() or not pids.read_text():
        assert build.poll() is None
        time.sleep(0.05)
    build.kill()
    build.wait()
    for pid in pids.read_text().split():
        assert gone(int(pid))


def test_a_server_takes_no_order_that_a_killed_build_has_left(tmp_path: Path) -> None:
    """It imported while its build was killed."""
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    job = tmp_path / "a.job"
    job.write_text("{}", encoding="utf-8")
    for build, reports in ((dead.pid, 0), (os.getpid(), 2)):
        command = [sys.executable, "-m", "kokoro_tvm.builder.engine.forkserver", "[]", str(build)]
        pipe = subprocess.PIPE
        with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe) as server:
            assert server.stdin is not None and server.stdout is not None
            server.stdin.write(order(1, job))
            server.stdin.flush()
            lines = [server.stdout.readline() for _ in range(max(1, reports))]
            assert lines == [b""] if reports == 0 else b"status" in lines[1]
        assert job.exists() == (reports == 0)


def test_a_job_is_known_to_its_build_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jobs: list[Path] = []
    start = child._Server.start
    monkeypatch.setattr(
        child._Server, "start", lambda preload, job: (jobs.append(job), start(preload, job))[1]
    )
    left = tmp_path / "a.1-0123.job"
    left.write_text("{}", encoding="utf-8")
    for _ in range(2):
        call_in(tmp_path, "nothing")
    assert len({*jobs}) == 2
    assert not left.exists()


def test_a_child_that_fails_before_it_has_a_log_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    call_in(tmp_path, "nothing")  # the server is there, and is told of a job that nobody can read
    monkeypatch.setattr(child.json, "dumps", lambda value, dumps=child.json.dumps: dumps(value)[:-1])
    with pytest.raises(WorkerError, match=r"Its log is empty\.(.|\n)*JSONDecodeError"):
        call_in(tmp_path, "nothing")
