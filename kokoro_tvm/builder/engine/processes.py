"""Processes forked from this one, each for one job: they run on all cores, and all start from one state."""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from pathlib import Path

from kokoro_tvm.builder.engine.trace import child_trace, take
from kokoro_tvm.common.errors import BuildError

__all__ = ["end_with_parent", "run_forked"]

_PR_SET_PDEATHSIG = 1
_POLL = 0.1  # seconds between looks at a parent, where the system tells nobody of its end
_LONGEST = 4096  # bytes of an error's message: a pipe holds that much until it is read


def end_with_parent(parent: int) -> None:
    """Has this process killed when the one that forked it, `parent`, ends: by Linux, or by a thread."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    else:
        threading.Thread(target=_end_after, args=(parent,), daemon=True).start()
    if os.getppid() != parent:  # it has ended already
        os._exit(1)


def _end_after(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_POLL)
    os.kill(os.getpid(), signal.SIGKILL)


def run_forked(
    job: Callable[[str], None],
    names: Sequence[str],
    processes: int,
    done: Callable[[str, float], None] = lambda name, seconds: None,
) -> None:
    """Calls `job(name)` for every name, each in a process forked from this one, `processes` at a time.

    They are started in the order given. A job sees the state this process is in, whatever ran before it or
    runs beside it, and its results are the files it writes. done(name, seconds): called here after each.
    Raises BuildError for the first job that fails or whose process dies, after killing the others.

    On macOS they run in this process, in turn: what its frameworks have begun is lost in a fork, and a child
    that uses them crashes.
    """
    if sys.platform == "darwin":
        _run_in_turn(job, names, done)
        return
    waiting, running = list(names), dict[int, _Job]()
    with ExitStack() as traces:
        try:
            while waiting or running:
                while waiting and len(running) < max(1, processes):
                    trace = traces.enter_context(child_trace())
                    started = _start(job, waiting.pop(0), trace)
                    running[started.process.sentinel] = started
                for sentinel in wait(list(running)):
                    assert isinstance(sentinel, int)
                    finished = running.pop(sentinel)
                    finished.require()
                    done(finished.name, time.monotonic() - finished.began)
        finally:
            for left in running.values():
                left.process.kill()
                left.process.join()


def _run_in_turn(
    job: Callable[[str], None], names: Sequence[str], done: Callable[[str, float], None]
) -> None:
    for name in names:
        began = time.monotonic()
        try:
            job(name)
        except Exception as error:  # whatever a compiler raises
            raise BuildError(f"{name}: {_message(error)}") from error
        done(name, time.monotonic() - began)


@dataclass(frozen=True)
class _Job:
    """A process and what it was started for; errors: the pipe that its error's message comes through."""

    name: str
    process: BaseProcess
    errors: int
    began: float

    def require(self) -> None:
        """Raises BuildError unless it succeeded."""
        self.process.join()
        with os.fdopen(self.errors, encoding="utf-8", errors="replace") as pipe:
            message = pipe.read()
        status = self.process.exitcode
        if status == 0:
            return
        if status == -signal.SIGKILL:
            message = "its process was killed (signal SIGKILL), as the system does for want of memory"
        elif status is not None and status < 0:
            message = f"its process crashed (signal {signal.Signals(-status).name})"
        raise BuildError(f"{self.name}: {message or f'its process failed with exit status {status}'}")


def _start(job: Callable[[str], None], name: str, trace: Path | None) -> _Job:
    context = multiprocessing.get_context("fork")
    receiver, sender = os.pipe()
    process = context.Process(target=_work, args=(job, name, sender, os.getpid(), trace))
    began = time.monotonic()
    process.start()
    os.close(sender)
    return _Job(name, process, receiver, began)


def _work(job: Callable[[str], None], name: str, errors: int, parent: int, trace: Path | None) -> None:
    end_with_parent(parent)
    try:
        job(name)
        if trace is not None:
            take().write(trace)
    except Exception as error:  # whatever a compiler raises: its message is passed on, its trace is logged
        traceback.print_exc()
        os.write(errors, _message(error).encode())
        sys.exit(1)


def _message(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".encode()[:_LONGEST].decode(errors="ignore")
