"""Server process that workers are forked from, so that slow imports happen once.

The server imports modules and then forks one worker for each job, from the same state: one thread, a fixed
hash seed. A job arrives as a socket that is passed over the server's standard input (a Unix socket). On the
job's socket the client sends a `Job`, and the server answers with dictionaries: {} when the worker starts and
{"status", "cpu_seconds"} when it ends. Before that, the worker may send {"error", "message"}, or {"raised"}
for an exception that no stage expects.

If the client closes the job's socket, the server kills the worker's process group. So a build that is killed
leaves no process behind.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import signal
import socket
import sys
import traceback
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, NoReturn

from kokoro_tvm.builder.engine import trace as recording
from kokoro_tvm.builder.engine.code import module_of
from kokoro_tvm.builder.engine.durable import NO_ROOM, advice, translate_write_errors
from kokoro_tvm.builder.engine.inputs import Inputs, allow_only
from kokoro_tvm.builder.engine.processes import end_with_parent
from kokoro_tvm.common.errors import KokoroTvmError, sentence

# multiprocessing has a fork server, too. If a build is killed, that server, its workers and their children go
# on; it imports the main module of the build again for each job (1.1 s); and there is one per process.


@dataclass(frozen=True)
class Job:
    """Arguments of `run_stage`, and the file that the worker's output goes to."""

    arguments: Mapping[str, Any]
    log: str


def main() -> None:
    """Import the modules of the JSON list in the first argument, then serve standard input until it ends."""
    recording.begin()
    # On macOS the state of the frameworks under torch and TVM is lost in a fork, so a worker imports what it
    # needs.
    for module in json.loads(sys.argv[1]) if sys.platform != "darwin" else ():
        try:
            importlib.import_module(module)
        except Exception:  # it fails again in the worker that needs it, and its log shows why
            traceback.print_exc()
    gc.collect()
    gc.freeze()  # collections in workers skip what was imported
    _serve(socket.socket(fileno=0))


def _serve(orders: socket.socket) -> None:
    """Start a worker for each socket received, until `orders` is closed and the last worker has ended.

    Kill the workers whose client closes its socket.
    """
    child_ended, write_end = os.pipe()
    os.set_blocking(write_end, False)
    signal.set_wakeup_fd(write_end, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    workers: dict[int, Connection] = {}
    open_orders = [orders]
    while open_orders or workers:
        ready = wait([*open_orders, child_ended, *workers.values()])
        if orders in ready:
            _, descriptors, _, _ = socket.recv_fds(orders, 1, 1)
            if descriptors:
                _start(Connection(descriptors[0]), workers)
            else:
                open_orders.clear()
        for pid, connection in workers.items():
            if connection in ready:  # the client closed it
                with suppress(OSError):
                    os.killpg(pid, signal.SIGKILL)
        if child_ended in ready:
            os.read(child_ended, 4096)
            _reap(workers)


def _start(connection: Connection, workers: dict[int, Connection]) -> None:
    """Fork a worker for the job that a client sends, and answer with an empty message."""
    os.set_inheritable(connection.fileno(), False)
    try:
        job = connection.recv()
    except (EOFError, OSError):  # the client has ended
        return
    if connection.poll():  # the client has ended since
        return
    server, pid = os.getpid(), os.fork()
    if pid == 0:
        _work(job, connection, server)
    workers[pid] = connection
    with suppress(OSError):  # the worker does the same; whichever comes first
        os.setpgid(pid, pid)
    with suppress(OSError):
        connection.send({})


def _reap(workers: dict[int, Connection]) -> None:
    """Send exit status and CPU time of each worker that has ended to its client."""
    while workers:
        pid, status, usage = os.wait4(-1, os.WNOHANG)
        if pid == 0:
            return
        cpu_seconds = usage.ru_utime + usage.ru_stime
        with workers.pop(pid) as connection, suppress(OSError):
            connection.send({"status": os.waitstatus_to_exitcode(status), "cpu_seconds": cpu_seconds})


def _work(job: Job, connection: Connection, server: int) -> NoReturn:
    """Run a job in this new process, with its log as output, and exit."""
    status = 70
    try:
        os.setpgid(0, 0)
        end_with_parent(server)
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        log = os.open(job.log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o644)
        os.dup2(log, 1)
        os.dup2(log, 2)
        sys.stdout, sys.stderr = (os.fdopen(fd, "w", buffering=1, closefd=False) for fd in (1, 2))
        status = _call(job, connection)
        sys.stdout.flush()
    except BaseException:  # before there is a log, the server's output has it
        traceback.print_exc()
    finally:
        os._exit(status)


def _call(job: Job, connection: Connection) -> int:
    """Run the job's stage and return the exit status. Send the name and message of an error."""
    try:
        run_stage(**job.arguments)
        return 0
    except BaseException as error:
        traceback.print_exc()
        if isinstance(error, SystemExit):
            return error.code if isinstance(error.code, int) else 1
        if isinstance(error, KokoroTvmError):
            outcome = type(error).__name__, str(error)
        elif isinstance(error, MemoryError):
            outcome = "WorkerError", "ran out of memory."
        elif isinstance(error, OSError) and error.errno in NO_ROOM:
            outcome = "BuildError", f"{error.filename or 'a file'} cannot be written: {advice(error)}."
        else:
            # The client shows the end of the log, so the message comes last there.
            print(f"{type(error).__name__}: {error}", file=sys.stderr)
            connection.send({"raised": _locate(error)})
            return 1
        connection.send(dict(zip(("error", "message"), outcome, strict=True)))
        return 1


def _locate(error: BaseException) -> str:
    """Return an exception's name, its message, and the line of a stage's code that it comes from."""
    frames = traceback.extract_tb(error.__traceback__)
    stage = [frame for frame in frames if (module_of(frame.filename) or __name__) != __name__]
    place = (stage or frames)[-1]
    return sentence(f"{type(error).__name__} in {place.filename}, line {place.lineno}: {error}")


def run_stage(
    function: str,
    inputs: Mapping[str, tuple[str, str]],
    out: str,
    root: str,
    cache: str | None,
    arguments: Mapping[str, Any],
    trace: str,
) -> None:
    """Call the function of a stage and record what it uses.

    Args:
        function: "module:name", called with `out`, the inputs and the arguments.
        inputs: Path and SHA-256 of every input, by name.
        out: Folder that the function writes to.
        root: Folder of which the function may open its inputs alone.
        cache: Folder below `root` that the stage may use, passed on as `cache`.
        arguments: Keyword arguments of the function.
        trace: File that the trace is written to, even if the function fails.
    """
    name, _, attribute = function.partition(":")
    call = getattr(importlib.import_module(name), attribute)
    stage_inputs = Inputs(inputs)
    folders = [Path(out), *([Path(cache)] if cache else [])]
    recording.restart()
    try:
        with allow_only(Path(root), stage_inputs, *folders):
            call(Path(out), stage_inputs, **arguments, **({"cache": Path(cache)} if cache else {}))
    finally:
        with translate_write_errors(Path(trace)):
            recording.take().write(Path(trace))


if __name__ == "__main__":
    main()
