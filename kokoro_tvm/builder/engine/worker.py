"""Client of the fork server: runs a stage in a worker process, with a log and a timeout."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import kokoro_tvm.common.errors
from kokoro_tvm.builder.engine.code import source_stamps
from kokoro_tvm.builder.engine.durable import translate_write_errors
from kokoro_tvm.builder.engine.forkserver import Job
from kokoro_tvm.builder.engine.processes import describe_exit
from kokoro_tvm.common.errors import BuildError

_TAIL = 15  # lines of the log that an error shows
_BEAT_S = 10.0
_IMPORT_TIMEOUT_S = 600.0
_DISK_FULL_BYTES = 1 << 20
# Workers start alike: a fixed hash seed, and no threads of numpy's since its import.
_ENVIRONMENT = {"PYTHONHASHSEED": "0", "OPENBLAS_NUM_THREADS": "1"}


class WorkerError(BuildError):
    """Crash, timeout or failure of a worker process."""


def run_worker(
    arguments: Mapping[str, Any],
    log: Path,
    timeout_s: float,
    what: str,
    beat: Callable[[float], None] = lambda elapsed: None,
    preload: Sequence[str] = (),
) -> float:
    """Call `forkserver.run_stage(**arguments)` in a worker process.

    Args:
        arguments: Arguments of `run_stage`.
        log: File that the worker's output goes to.
        timeout_s: Seconds after the start of the worker until it is killed.
        what: Name of the stage; error messages begin with it.
        beat: Called every 10 s with the seconds so far.
        preload: Modules that the server imports beforehand.

    Returns:
        Seconds of CPU time.

    Raises:
        KokoroTvmError: The error that the stage raised.
        WorkerError: The worker crashed, failed otherwise or exceeded its time; shows the end of the log.
    """
    if not hasattr(os, "fork"):
        raise BuildError(
            f"{what}: stages run in forked processes, and this system ({sys.platform}) has no fork; build on "
            "Linux or macOS, or in WSL."
        )
    log, began = log.absolute(), time.monotonic()
    with translate_write_errors(log):
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_bytes(b"")
    outcome: dict[str, Any] = {}
    server, connection = _Server.submit(tuple(preload), Job(arguments, str(log)))
    with connection:

        def receive(limit_s: float) -> dict[str, Any] | None:
            """Return the next message, or None if there is none in time.

            Raises WorkerError if the worker ended.
            """
            deadline = time.monotonic() + limit_s
            while (left := deadline - time.monotonic()) > 0:
                try:
                    if connection.poll(min(_BEAT_S, left)):
                        message: dict[str, Any] = connection.recv()
                        return message
                except (EOFError, OSError) as error:
                    ending = f"the process it is forked from has died. {server.last_words()}"
                    raise WorkerError(f"{what}: {ending}") from error
                beat(time.monotonic() - began)
            return None

        if receive(_IMPORT_TIMEOUT_S) is None:
            raise WorkerError(
                f"{what}: the process it is forked from did not import what it needs within "
                f"{_IMPORT_TIMEOUT_S:g} s; build again when the machine has less to do."
            )
        started = time.monotonic()
        while "status" not in outcome:
            message = receive(started + timeout_s - time.monotonic())
            if message is None:
                raise WorkerError(
                    f"{what}: did not end within {timeout_s:g} s and was stopped.{_quote_log(log)}"
                )
            outcome |= message
    if outcome["status"] == 0:
        return float(outcome["cpu_seconds"])
    if "error" in outcome:
        kinds = vars(kokoro_tvm.common.errors) | {"WorkerError": WorkerError}
        kind = kinds.get(outcome["error"], BuildError)
        raise kind(f"{what}: {outcome['message']} Its log is {log}.")
    end = _quote_log(log) if log.stat().st_size else f" Its log is empty.{server.output()}"
    ending = outcome.get("raised") or f"{describe_exit(outcome['status'])}."
    raise WorkerError(f"{what}: {ending}{_hint_full_disk(log.parent)}{end}")


def _hint_full_disk(folder: Path) -> str:
    """Return a sentence about a full disk; "" if there is space."""
    # Libraries that cannot write do not always report it.
    free = shutil.disk_usage(folder).free
    if free > _DISK_FULL_BYTES:
        return ""
    return f" The disk is full: {free:,} bytes are left in {folder}; make room."


def _quote_log(log: Path) -> str:
    """Return a sentence with the last lines of a log."""
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()[-_TAIL:]
    shown = "".join(f"\n    {line}" for line in lines) or "\n    (empty)"
    return f" The end of its log, {log}:{shown}"


class _Server:
    """Fork server that has imported some modules. Threads may share it."""

    _all: list[_Server] = []  # noqa: RUF012  (a registry)
    _lock = threading.Lock()

    @classmethod
    def submit(cls, preload: tuple[str, ...], job: Job) -> tuple[_Server, Connection]:
        """Send a job to the server that has imported these modules, and return its connection.

        Starts a server if there is none or a source file was edited.
        """
        ours, theirs = socket.socketpair()
        connection = Connection(ours.detach())
        with suppress(OSError):  # if the server died, `recv` raises EOFError
            with cls._lock, theirs:
                server = cls._get(preload)
                socket.send_fds(server._orders, [b"j"], [theirs.fileno()])
            connection.send(job)
        return server, connection

    @classmethod
    def _get(cls, preload: tuple[str, ...]) -> _Server:
        """Return the server of these modules, started anew if it ended or a source file was edited."""
        sources = source_stamps()
        for server in cls._all:
            if server._preload == preload and server._orders.fileno() >= 0:
                if server._process.poll() is None and server._sources == sources:
                    return server
                server._orders.close()  # it ends after its last worker
        cls._all.append(cls(preload, sources))
        return cls._all[-1]

    def __init__(self, preload: tuple[str, ...], sources: dict[Path, tuple[int, ...]]) -> None:
        self._preload, self._sources = preload, sources
        self._output = tempfile.TemporaryFile()  # noqa: SIM115  (as long-lived as the server)
        self._orders, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "kokoro_tvm.builder.engine.forkserver", json.dumps(preload)],
                stdin=theirs.fileno(),
                stdout=self._output,
                stderr=self._output,
                env=os.environ | _ENVIRONMENT,
                start_new_session=True,
            )

    def last_words(self) -> str:
        """Wait for the server, and say how it ended."""
        return f"It {describe_exit(self._process.wait(_BEAT_S))}.{self.output()}"

    def output(self) -> str:
        """Return the last lines, indented, that the server and workers without a log have printed."""
        size = os.fstat(self._output.fileno()).st_size
        # pread, because the server shares the file's position.
        lines = os.pread(self._output.fileno(), size, 0).decode(errors="replace").splitlines()[-_TAIL:]
        return "".join(f"\n    {line}" for line in lines)
