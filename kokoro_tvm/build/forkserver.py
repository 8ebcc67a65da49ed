"""The process that stages are forked from: what is slow to import is imported once, for all of them.

It imports and forks and does nothing else, so every child starts from the same state, whatever ran before it:
no thread, a fixed hash seed and fixed addresses, without which the same input does not always give the same
bytes.

Standard input takes one job a line, {"id", "function", "arguments", "log", "outcome"}; standard output tells
{"id", "pid"} when it was started and {"id", "status", "cpu_seconds"} when it ended (the status as
subprocess's returncode). The end of the input is the end of the server and of every child that still runs: a
build that dies leaves nobody behind.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import importlib
import json
import os
import select
import signal
import sys
import traceback
from pathlib import Path
from typing import IO, Any

from kokoro_tvm.errors import KokoroTvmError

__all__ = ["main"]

_ADDR_NO_RANDOMIZE = 0x0040000
_PR_SET_PDEATHSIG = 1
_MARK = "KOKORO_TVM_FORKSERVER"
_POLL = 0.02  # seconds between looks at running children


def main() -> None:
    """Serves until the end of standard input; its only argument is a JSON list of modules to import first."""
    _without_randomisation()
    reports = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what imports print is no report
    for module in json.loads(sys.argv[1]):
        # A module that cannot be imported fails again in the child that needs it, where its log tells.
        with contextlib.suppress(Exception):
            importlib.import_module(module)
    gc.collect()
    gc.freeze()  # collections in children need not look at what was imported
    running: dict[int, int] = {}
    pending = b""
    while True:
        ready, _, _ = select.select([0], [], [], _POLL if running else None)
        if ready:
            received = os.read(0, 1 << 16)
            if not received:
                break
            *lines, pending = (pending + received).split(b"\n")
            for line in lines:
                job = json.loads(line)
                pid = _fork(job, reports)
                running[pid] = job["id"]
                print(json.dumps({"id": job["id"], "pid": pid}), file=reports, flush=True)
        for pid in list(running):
            done, status, usage = os.wait4(pid, os.WNOHANG)
            if done:
                code, cpu = os.waitstatus_to_exitcode(status), usage.ru_utime + usage.ru_stime
                told = {"id": running.pop(pid), "status": code, "cpu_seconds": cpu}
                print(json.dumps(told), file=reports, flush=True)
    for pid in running:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)


def _fork(job: dict[str, Any], reports: IO[str]) -> int:
    pid = os.fork()
    if pid:
        with contextlib.suppress(OSError):  # whoever comes first; killing a child means killing its group
            os.setpgid(pid, pid)
        return pid
    status = 70
    try:
        os.setpgid(0, 0)
        if sys.platform == "linux":  # a server that is killed takes its children along
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        os.close(reports.fileno())
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        log = os.open(job["log"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o644)
        os.dup2(log, 1)
        os.dup2(log, 2)
        sys.stdout, sys.stderr = (os.fdopen(fd, "w", buffering=1, closefd=False) for fd in (1, 2))
        status = _call(job)
        sys.stdout.flush()
    finally:
        os._exit(status)


def _call(job: dict[str, Any]) -> int:
    """Calls the job's function; its exit status. What a KokoroTvmError says goes into the outcome file."""
    module, _, name = job["function"].partition(":")
    try:
        getattr(importlib.import_module(module), name)(**job["arguments"])
    except KokoroTvmError as error:
        traceback.print_exc()
        told = {"error": type(error).__name__, "message": str(error)}
        Path(job["outcome"]).write_text(json.dumps(told), encoding="utf-8")
        return error.exit_code
    except SystemExit as error:
        traceback.print_exc()
        return error.code if isinstance(error.code, int) else 1
    except BaseException as error:
        # The whole trace is in the log; the message is what a reader needs first, and it comes last there.
        traceback.print_exc()
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 1
    return 0


def _without_randomisation() -> None:
    """Starts this program again with fixed addresses, once; where the system refuses, bytes may differ."""
    if os.environ.pop(_MARK, "") == "1":
        return
    if sys.platform == "linux" and ctypes.CDLL(None).personality(_ADDR_NO_RANDOMIZE) != -1:
        os.environ[_MARK] = "1"
        os.execv(sys.executable, [sys.executable, "-m", "kokoro_tvm.build.forkserver", *sys.argv[1:]])


if __name__ == "__main__":
    main()
