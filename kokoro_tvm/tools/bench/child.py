"""Child processes that are measured: requests and answers as lines of JSON, stopped in between."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from kokoro_tvm.common.errors import KokoroTvmError

OURS = (sys.executable, "-c", "from kokoro_tvm.cli import main; main()")
"""Command line of `kokoro-tvm`, without looking for the installed script."""
_TAIL_LINES = 4  # of the log, in an error


class MeasuredProcessError(KokoroTvmError):
    """A measured process failed; the message has its exit status and the end of its log."""


class Child:
    """A process that answers lines of JSON and is stopped (SIGSTOP) while it has no request.

    Threads of a stopped process neither spin nor wake up, so that the running one has the machine alone.
    """

    def __init__(
        self, command: Sequence[str], threads: int, log: Path, variables: Mapping[str, str] | None = None
    ) -> None:
        self.log = log
        with log.open("wb") as errors:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                env=environment(threads, variables),
                text=True,
                encoding="utf-8",
            )

    def ask(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Continue the process, send a request, wait for the answer and stop the process again.

        Raises:
            MeasuredProcessError: The process ended.
        """
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None and stdout is not None  # both are pipes
        self._process.send_signal(signal.SIGCONT)
        try:
            stdin.write(json.dumps(request) + "\n")
            stdin.flush()
        except BrokenPipeError:
            line = ""  # reported below
        else:
            line = stdout.readline()
        if not line:
            raise MeasuredProcessError(how_it_ended(self._process.wait(), self.log))
        self._process.send_signal(signal.SIGSTOP)
        answer: dict[str, Any] = json.loads(line)
        return answer

    def close(self) -> None:
        """Kill the process, whether it is stopped or not."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            with suppress(BrokenPipeError):  # a failed request left in the buffer
                pipe.close()


def time_start(
    command: Sequence[str],
    threads: int,
    log: Path,
    variables: Mapping[str, str] | None = None,
    requests: Sequence[Mapping[str, Any]] = (),
) -> float:
    """Return the seconds until a new process printed its first line, or answered all requests.

    The time to exit afterwards does not count.

    Raises:
        MeasuredProcessError: The process failed.
    """
    lines = log.with_suffix(".jsonl")
    lines.write_text("".join(json.dumps(request) + "\n" for request in requests), encoding="utf-8")
    with log.open("wb") as errors, lines.open("rb") as stdin:
        start = time.perf_counter()
        with subprocess.Popen(
            command, stdin=stdin, stdout=subprocess.PIPE, stderr=errors, env=environment(threads, variables)
        ) as process:
            assert process.stdout is not None  # a pipe
            for _ in requests or ("",):
                process.stdout.readline()
            seconds = time.perf_counter() - start
            process.stdout.read()
            status = process.wait()
    if status != 0:
        raise MeasuredProcessError(f"the cold start {how_it_ended(status, log)}")
    return seconds


def python_module(name: str) -> list[str]:
    """Return the command `python -m NAME`."""
    return [sys.executable, "-m", name]


def environment(threads: int, variables: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return this process's environment with `variables` and the number of threads of every thread pool."""
    names = ("TVM_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
    return {**os.environ, **(variables or {}), **dict.fromkeys(names, str(threads))}


def how_it_ended(status: int, log: Path) -> str:
    """Describe the exit status of a process, with the end of its log."""
    lines: Sequence[str] = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    if status < 0:
        end = f"ended by signal {signal.Signals(-status).name}"
        end += " (out of memory?)" if status == -signal.SIGKILL else ""
    else:
        end = f"ended with exit status {status}"
    return f"{end}: {' | '.join(line.strip() for line in lines[-_TAIL_LINES:]) or 'its log is empty'}"
