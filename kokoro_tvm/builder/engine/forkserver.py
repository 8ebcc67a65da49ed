"""The process that stages are forked from: what is slow to import is imported once, for all of them.

It imports, then waits for orders and forks, and does nothing else, so every child starts from the same state,
whatever ran before or runs beside it: no thread and a fixed hash seed. So even watching over a child is left
to another child.

Standard input takes orders of ORDER bytes, a number and the path of a job, which only the child reads: JSON
of {"arguments", "log", "outcome"}. Standard output tells {"id", "pid", "watcher"} when it was
started and {"id", "status", "cpu_seconds"} when it ended (the status as subprocess's returncode). The end of
the input is the end of the server and of every child that still runs: a build that dies leaves nobody behind.
A server that imported meanwhile takes none of the orders that such a build has left.

On macOS it imports nothing: what the frameworks under torch and TVM have begun is lost in a fork, so a child
imports what it needs itself.

multiprocessing has a fork server, too. Its children outlive a build that is killed, import its main module
anew, and their CPU time is not known; and there is one for a process, so that no two can have imported
different modules.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import signal
import sys
import time
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

from kokoro_tvm.builder.engine import trace as recording
from kokoro_tvm.builder.engine.durable import NO_ROOM, advice, storing
from kokoro_tvm.builder.engine.inputs import Inputs, only
from kokoro_tvm.builder.engine.processes import end_with_parent
from kokoro_tvm.common.errors import KokoroTvmError

__all__ = ["ORDER", "OUT_OF_MEMORY", "main", "order", "run_stage"]

ORDER = 4096  # bytes: what a pipe takes and gives as a whole
OUT_OF_MEMORY = "OutOfMemoryError"  # the name, in an outcome, of an error that is none of ours

_POLL = 0.02  # seconds between a watcher's looks at its child


def order(number: int, job: Path) -> bytes:
    """The order for a job; raises ValueError where the path is too long."""
    content = f"{number} {job}".encode()
    if len(content) > ORDER:
        raise ValueError(f"the path {job} is too long")
    return content.ljust(ORDER, b"\0")


def main() -> None:
    """Serve until the end of standard input, or of the build.

    Its arguments are a JSON list of modules to import first, and the build's process.
    """
    reports, server, build = os.dup(1), os.getpid(), int(sys.argv[2])
    os.dup2(2, 1)  # what imports print is no report
    recording.begin()
    for module in json.loads(sys.argv[1]) if sys.platform != "darwin" else ():
        try:
            importlib.import_module(module)
        except Exception:  # it fails again in the child that needs it, and its log shows why
            traceback.print_exc()
    gc.collect()
    gc.freeze()  # collections in children need not look at what was imported
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for watchers
    while (received := os.read(0, ORDER)) and os.getppid() == build:
        if os.fork() == 0:
            try:
                _watch(received, reports, server)
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(0)


def _watch(received: bytes, reports: int, server: int) -> None:
    """Runs the job in a child and reports on it; ends it if the server is gone."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    watcher, child = os.getpid(), os.fork()
    if child == 0:
        _work(received, reports, watcher)
    with contextlib.suppress(OSError):  # whichever of the two comes first; its group is what is killed
        os.setpgid(child, child)
    number = int(received[: received.index(b" ")])
    _report(reports, {"id": number, "pid": child, "watcher": os.getpid()})
    while True:
        done, status, usage = os.wait4(child, os.WNOHANG)
        if done:
            code, cpu = os.waitstatus_to_exitcode(status), usage.ru_utime + usage.ru_stime
            _report(reports, {"id": number, "status": code, "cpu_seconds": cpu})
            return
        if os.getppid() != server:
            os.killpg(child, signal.SIGKILL)
            return
        time.sleep(_POLL)


def _report(reports: int, message: dict[str, Any]) -> None:
    os.write(reports, json.dumps(message).encode() + b"\n")  # short enough to come whole


def _work(received: bytes, reports: int, watcher: int) -> NoReturn:
    status = 70
    try:
        os.setpgid(0, 0)
        end_with_parent(watcher)  # one that is killed takes its child along
        os.close(reports)
        path = Path(received.rstrip(b"\0").decode().partition(" ")[2])
        job = json.loads(path.read_text(encoding="utf-8"))
        path.unlink()
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        log = os.open(job["log"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o644)
        os.dup2(log, 1)
        os.dup2(log, 2)
        sys.stdout, sys.stderr = (os.fdopen(fd, "w", buffering=1, closefd=False) for fd in (1, 2))
        status = _call(job)
        sys.stdout.flush()
    except BaseException:  # before there is a log, what the server writes has it
        traceback.print_exc()
    finally:
        os._exit(status)


def _call(job: dict[str, Any]) -> int:
    """Runs the stage of a job and returns its exit status. Errors go to the outcome file."""
    try:
        run_stage(**job["arguments"])
        return 0
    except BaseException as error:
        traceback.print_exc()
        if isinstance(error, SystemExit):
            return error.code if isinstance(error.code, int) else 1
        if isinstance(error, KokoroTvmError):
            return _leave(job, type(error).__name__, str(error), error.exit_code)
        if isinstance(error, MemoryError):
            return _leave(job, OUT_OF_MEMORY, "ran out of memory.", 1)
        if isinstance(error, OSError) and error.errno in NO_ROOM:
            message = f"{error.filename or 'a file'} cannot be written: {advice(error)}."
            return _leave(job, "BuildError", message, 1)
        # The whole trace is in the log; the message is what a reader needs first, and it comes last there.
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 1


def run_stage(
    function: str,
    inputs: Mapping[str, tuple[str, str]],
    out: str,
    root: str,
    cache: str | None,
    arguments: Mapping[str, Any],
    trace: str,
) -> None:
    """Calls `function` ("module:name") with the folder to write to, the inputs and the arguments.

    root: the folder of which it may open its inputs alone; cache: a folder below it that the stage may use
    as it likes, passed on as `cache` where there is one. trace: the file that says what the function used,
    failed or not.
    """
    name, _, attribute = function.partition(":")
    call = getattr(importlib.import_module(name), attribute)
    given = Inputs(inputs)
    folders = [Path(out), *([Path(cache)] if cache else [])]
    recording.restart()
    try:
        with only(Path(root), given, *folders):
            call(Path(out), given, **arguments, **({"cache": Path(cache)} if cache else {}))
    finally:
        with storing(Path(trace)):
            recording.take().write(Path(trace))


def _leave(job: dict[str, Any], error: str, message: str, status: int) -> int:
    """Writes the job's outcome file; if even that cannot be written, the log has the message."""
    with contextlib.suppress(OSError):
        Path(job["outcome"]).write_text(json.dumps({"error": error, "message": message}), encoding="utf-8")
    return status


if __name__ == "__main__":
    main()
