"""Runs a stage in a process of its own: its log is kept, and nothing it does can take the build down.

A stage is a plain function by name, called with arguments that JSON can hold. Its process is forked from a
server (kokoro_tvm.builder.engine.forkserver) that has imported what takes seconds to import.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import kokoro_tvm.common.errors
from kokoro_tvm.builder.engine.code import source_stamps
from kokoro_tvm.builder.engine.durable import storing
from kokoro_tvm.builder.engine.forkserver import OUT_OF_MEMORY, order
from kokoro_tvm.common.errors import BuildError, KokoroTvmError

__all__ = ["WorkerError", "run_child"]

_TAIL = 15  # lines of the log an error shows
_BEAT = 10.0  # seconds between signs of life
_LAST_WORD = 10.0  # seconds that the last message of a watcher may take to arrive
_PATIENCE = 600.0  # seconds the server may take to import and fork
_LITTLE = 1 << 20  # bytes
# What lets one child start like another: no hashing by chance, and no threads of numpy's from its import on.
_SAME = {"PYTHONHASHSEED": "0", "OPENBLAS_NUM_THREADS": "1"}
_CRASHES = {"SIGSEGV", "SIGBUS", "SIGILL", "SIGFPE", "SIGABRT"}


class WorkerError(BuildError):
    """A child process failed, crashed, exceeded its time or was killed."""


def run_child(
    arguments: Mapping[str, Any],
    log: Path,
    timeout_s: float,
    what: str,
    beat: Callable[[float], None] = lambda elapsed: None,
    preload: Sequence[str] = (),
) -> float:
    """Calls `forkserver.run_stage(**arguments)` in a child process, with its output in `log`; seconds of CPU.

    beat: called with the seconds so far, now and then. preload: modules its server imports beforehand.
    Raises the child's own error if it left one, else ChildError saying how it ended and the log's end; every
    message begins with `what` and names the log.
    """
    if not hasattr(os, "fork"):
        raise BuildError(
            f"{what}: stages run in forked processes, and this system ({sys.platform}) has no fork; build on "
            "Linux or macOS, or in WSL."
        )
    log = log.absolute()
    # No other build's server can take the job, even if it outlived its build.
    outcome, job = log.with_suffix(".error"), log.with_suffix(f".{os.getpid()}-{uuid4().hex}.job")
    request = {"arguments": arguments, "log": str(log), "outcome": str(outcome)}
    with storing(log):
        log.parent.mkdir(parents=True, exist_ok=True)
        outcome.unlink(missing_ok=True)
        for left in log.parent.glob(f"{log.stem}.*-*.job"):  # by a build that was killed
            left.unlink(missing_ok=True)
        log.write_bytes(b"")
        job.write_text(json.dumps(request), encoding="utf-8")
    kills = _memory_kills()
    child = _Server.start(tuple(preload), job)
    try:
        if not child.wait(timeout_s, beat):
            child.kill()
            if child.pid is None:
                raise WorkerError(
                    f"{what}: the process it is forked from did not import what it needs within "
                    f"{_PATIENCE:g} s; build again when the machine has less to do."
                )
            raise WorkerError(f"{what}: did not end within {timeout_s:g} s and was stopped.{_end_of(log)}")
    finally:
        child.kill()
        job.unlink(missing_ok=True)
    if child.status == 0:
        return child.cpu_seconds
    if child.status is None:
        raise WorkerError(f"{what}: the process it is forked from has died. {child.server.last_words()}")
    if outcome.is_file():
        error = json.loads(outcome.read_text(encoding="utf-8"))
        outcome.unlink()
        kind = (
            WorkerError
            if error["error"] == OUT_OF_MEMORY
            else vars(kokoro_tvm.common.errors).get(error["error"])
        )
        if not (isinstance(kind, type) and issubclass(kind, KokoroTvmError)):
            kind = BuildError
        raise kind(f"{what}: {error['message']} Its log is {log}.")
    manner = _manner(child.status, _memory_kills() > kills)
    end = _end_of(log) if log.stat().st_size else f" Its log is empty.{child.server.words()}"
    raise WorkerError(f"{what}: {manner}.{_room(log.parent)}{end}")


def _manner(status: int, for_memory: bool = False) -> str:
    """How a process ended; for_memory: whether the system killed some for want of memory meanwhile."""
    if status >= 0:
        return f"failed with exit status {status}"
    number = signal.Signals(-status)
    if number.name in _CRASHES:
        return f"crashed (signal {number.name})"
    if number != signal.SIGKILL:
        return f"was ended by signal {number.name}"
    if for_memory:
        return "was killed by the system for want of memory; close something, or build without -n"
    return "was killed (signal SIGKILL), as the system does for want of memory"


def _memory_kills() -> int:
    """How many processes the system has killed for want of memory; 0 if it does not report that."""
    total = 0
    for place in ("/sys/fs/cgroup/memory.events", "/proc/vmstat"):
        with contextlib.suppress(OSError):
            words = Path(place).read_text(encoding="ascii").split()
            total += int(words[words.index("oom_kill") + 1]) if "oom_kill" in words else 0
    return total


def _room(folder: Path) -> str:
    """A hint if the disk is full, which libraries that cannot write do not always report."""
    free = shutil.disk_usage(folder).free
    return "" if free > _LITTLE else f" The disk is full: {free:,} bytes are left in {folder}; make room."


def _end_of(log: Path) -> str:
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()[-_TAIL:]
    shown = "".join(f"\n    {line}" for line in lines) or "\n    (empty)"
    return f" The end of its log, {log}:{shown}"


@dataclass
class _Child:
    """A job in hand: `pid` and `watcher` once it runs, `status` once it ended (None: its server died)."""

    server: _Server
    pid: int | None = None
    watcher: int | None = None
    status: int | None = None
    cpu_seconds: float = 0.0
    started: threading.Event = field(default_factory=threading.Event)
    ended: threading.Event = field(default_factory=threading.Event)

    def wait(self, timeout_s: float, beat: Callable[[float], None]) -> bool:
        """Whether it ended within the time, counted from its start."""
        called = time.monotonic()
        while not self.started.wait(_BEAT):
            beat(time.monotonic() - called)
            if time.monotonic() - called > _PATIENCE:
                return False
        started = time.monotonic()
        while (left := started + timeout_s - time.monotonic()) > 0:
            if self.ended.wait(min(_BEAT, left)):
                return True
            self._look_after()
            beat(time.monotonic() - called)
        return self.ended.is_set()

    def _look_after(self) -> None:
        """A watcher reports how its child ended before it ends; one that ended without a report was killed,
        and its child with it."""
        assert self.watcher is not None
        try:
            os.kill(self.watcher, 0)
        except ProcessLookupError:
            if not self.ended.wait(_LAST_WORD):
                self.status = -signal.SIGKILL
                self.ended.set()

    def kill(self) -> None:
        """Ends it and what it started, if it still runs."""
        if self.pid is not None and not self.ended.is_set():
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.pid, signal.SIGKILL)
            self.ended.wait(_BEAT)


class _Server:
    """The parent's side of a fork server. Threads may share it."""

    _all: dict[tuple[str, ...], _Server] = {}  # noqa: RUF012  (a registry)
    _lock = threading.Lock()

    @classmethod
    def start(cls, preload: tuple[str, ...], job: Path) -> _Child:
        """Starts a job on the server that has imported these modules; an edited file means a new server. The
        old one is closed once its children have ended."""
        with cls._lock:
            server, sources = cls._all.get(preload), source_stamps()
            if server is None or server._lost or server._sources != sources:
                if server is not None:
                    server._retire()
                server = cls._all[preload] = cls(preload, sources)
            return server._start(job)

    def __init__(self, preload: tuple[str, ...], sources: dict[Path, tuple[int, ...]]) -> None:
        self._sources = sources
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115  (as long-lived as the server)
        self._process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "kokoro_tvm.builder.engine.forkserver",
                json.dumps(preload),
                str(os.getpid()),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
            env=os.environ | _SAME,
            start_new_session=True,
        )
        self._children: dict[int, _Child] = {}
        self._count = 0
        self._lost = self._retired = False
        self._mutex = threading.Lock()
        threading.Thread(target=self._listen, daemon=True).start()
        atexit.register(self._close)

    def _start(self, job: Path) -> _Child:
        child = _Child(self)
        with self._mutex:
            self._count += 1
            self._children[self._count] = child
            assert self._process.stdin is not None
            with contextlib.suppress(OSError):  # a server that is gone is noticed by _listen
                self._process.stdin.write(order(self._count, job))
                self._process.stdin.flush()
            if self._lost:
                self._abandon()
        return child

    def last_words(self) -> str:
        """Wait for the server, and say how it ended."""
        self._process.wait()
        return f"It {_manner(self._process.returncode)}.{self.words()}"

    def words(self) -> str:
        """Return the end of what the server and its children wrote before they had a log."""
        size = os.fstat(self._stderr.fileno()).st_size
        # At a place, for the server shares the file's position.
        lines = os.pread(self._stderr.fileno(), size, 0).decode(errors="replace").splitlines()[-_TAIL:]
        return "".join(f"\n    {line}" for line in lines)

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            message = json.loads(line)
            with self._mutex:
                child = self._children[message["id"]]
                if "pid" in message:
                    child.pid, child.watcher = message["pid"], message["watcher"]
                    child.started.set()
                else:
                    child.status, child.cpu_seconds = message["status"], message["cpu_seconds"]
                    child.ended.set()
                    del self._children[message["id"]]
                    idle = self._retired and not self._children
            if "status" in message and idle:
                self._close()
        with self._mutex:
            self._lost = True
            self._abandon()

    def _abandon(self) -> None:
        for child in self._children.values():
            child.ended.set()
            child.started.set()
        self._children.clear()

    def _retire(self) -> None:
        with self._mutex:
            self._retired = True
            idle = not self._children
        if idle:
            self._close()

    def _close(self) -> None:
        atexit.unregister(self._close)
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        self._process.wait()
