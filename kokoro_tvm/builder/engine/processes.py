"""Processes forked from this one, one for each job. They use all cores and start from the same state."""

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
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess

from kokoro_tvm.builder.engine import trace
from kokoro_tvm.builder.engine.trace import CodeTrace
from kokoro_tvm.common.errors import BuildError

_PR_SET_PDEATHSIG = 1
_POLL_S = 0.1
_MAX_MESSAGE_BYTES = 4096
_CRASHES = {"SIGSEGV", "SIGBUS", "SIGILL", "SIGFPE", "SIGABRT"}


def end_with_parent(parent: int) -> None:
    """Kill this process when `parent`, which forked it, ends. Linux does that; elsewhere a thread does."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    else:
        threading.Thread(target=_end_after, args=(parent,), daemon=True).start()
    if os.getppid() != parent:  # it has ended already
        os._exit(1)


def _end_after(parent: int) -> None:
    """Kill this process when `parent` has ended; called in a thread."""
    while os.getppid() == parent:
        time.sleep(_POLL_S)
    os.kill(os.getpid(), signal.SIGKILL)


def describe_exit(status: int) -> str:
    """Describe how a process ended. status: as `subprocess.Popen.returncode`."""
    if status >= 0:
        return f"failed with exit status {status}"
    name = signal.Signals(-status).name
    if name in _CRASHES:
        return f"crashed (signal {name})"
    if name == "SIGKILL":
        return "was killed (signal SIGKILL), as the system does for want of memory"
    return f"was ended by signal {name}"


def run_forked(
    job: Callable[[str], None],
    names: Sequence[str],
    processes: int,
    on_done: Callable[[str, float], None] = lambda name, seconds: None,
) -> None:
    """Call `job(name)` for every name, each in a process forked from this one.

    The files that a job opens are added to this process's trace. On macOS the jobs run in this process, in
    turn: the state of its frameworks is lost in a fork.

    Args:
        job: Its results are the files that it writes.
        names: Jobs start in this order.
        processes: How many jobs run at the same time.
        on_done: Called in this process after each job that succeeds, with its name and seconds.

    Raises:
        BuildError: A job failed or its process died. The other processes are killed.
    """
    if sys.platform == "darwin":
        _run_in_turn(job, names, on_done)
        return
    waiting, running = list(names), dict[Connection, _ForkedJob]()
    try:
        while waiting or running:
            while waiting and len(running) < max(1, processes):
                started = _start(job, waiting.pop(0))
                running[started.connection] = started
            for connection in wait(list(running)):
                assert isinstance(connection, Connection)
                ended = running.pop(connection)
                trace.add(ended.result())
                on_done(ended.name, time.monotonic() - ended.began)
    finally:
        for left in running.values():
            left.process.kill()
            left.process.join()


def _run_in_turn(
    job: Callable[[str], None], names: Sequence[str], on_done: Callable[[str, float], None]
) -> None:
    """Call the jobs one after another in this process. Raises BuildError for the first that raises."""
    for name in names:
        began = time.monotonic()
        try:
            job(name)
        except Exception as error:  # whatever a compiler raises
            raise BuildError(f"{name}: {_format_error(error)}") from error
        on_done(name, time.monotonic() - began)


@dataclass(frozen=True)
class _ForkedJob:
    """Running job.

    Attributes:
        connection: Receives the job's trace, or the message of its error.
    """

    name: str
    process: BaseProcess
    connection: Connection
    began: float

    def result(self) -> CodeTrace:
        """Wait for the process and return its trace.

        Raises BuildError if the job failed or its process died.
        """
        with self.connection:
            try:
                result = self.connection.recv()
            except EOFError:
                result = None
        self.process.join()
        if isinstance(result, CodeTrace):
            return result
        raise BuildError(
            f"{self.name}: {result or f'its process {describe_exit(self.process.exitcode or 0)}'}"
        )


def _start(job: Callable[[str], None], name: str) -> _ForkedJob:
    """Fork a process that calls the job and sends its trace or an error."""
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_run_job, args=(job, name, sender, os.getpid()))
    began = time.monotonic()
    process.start()
    sender.close()
    return _ForkedJob(name, process, receiver, began)


def _run_job(job: Callable[[str], None], name: str, sender: Connection, parent: int) -> None:
    """Call the job, then send its trace, or the message of its error."""
    end_with_parent(parent)
    try:
        job(name)
        sender.send(trace.take())
    except Exception as error:  # whatever a compiler raises
        traceback.print_exc()
        sender.send(_format_error(error))


def _format_error(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".encode()[:_MAX_MESSAGE_BYTES].decode(errors="ignore")
