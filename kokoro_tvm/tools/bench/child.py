"""The parent's side of a process that computes only while it has a request."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from kokoro_tvm.common.errors import KokoroTvmError

__all__ = ["OURS", "Child", "MeasuredProcessError", "environment", "last_words", "python_module"]

OURS = (sys.executable, "-c", "from kokoro_tvm.cli import main; main()")
"""What the installed command `kokoro-tvm` does, wherever it was installed."""
_TAIL = 4  # lines of the log that an error shows


class MeasuredProcessError(KokoroTvmError):
    """A measured process ended before its time; the message is how, and the end of its log."""


class Child:
    """A command answering lines of JSON; stopped (SIGSTOP) whenever it has no request.

    Threads of a stopped process neither spin nor wake up, whatever library they belong to: the one that
    computes has the machine to itself.
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

    def ask(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Wakes the process, hands it `message`, waits for its answer, stops it again; raises ChildError."""
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None and stdout is not None  # both are pipes
        self._process.send_signal(signal.SIGCONT)
        try:
            stdin.write(json.dumps(message) + "\n")
            stdin.flush()
        except BrokenPipeError:
            line = ""  # how it ended is reported below
        else:
            line = stdout.readline()
        if not line:
            raise MeasuredProcessError(last_words(self._process.wait(), self.log))
        self._process.send_signal(signal.SIGSTOP)
        answer: dict[str, Any] = json.loads(line)
        return answer

    def close(self) -> None:
        """Ends the process, stopped or not."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            with suppress(BrokenPipeError):  # what a failed question left in the buffer has nobody to go to
                pipe.close()


def python_module(name: str) -> list[str]:
    """The command `python -m NAME`."""
    return [sys.executable, "-m", name]


def environment(threads: int, variables: Mapping[str, str] | None = None) -> dict[str, str]:
    """This process's environment with these variables, and the same number of threads for every thread
    pool."""
    names = ("TVM_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
    return {**os.environ, **(variables or {}), **dict.fromkeys(names, str(threads))}


def last_words(status: int, log: Path) -> str:
    """How a process ended, and the end of what it had to say."""
    lines: Sequence[str] = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-_TAIL:]
    if status < 0:
        manner = f"ended by signal {signal.Signals(-status).name}"
        manner += " (out of memory?)" if status == -signal.SIGKILL else ""
    else:
        manner = f"ended with exit status {status}"
    return f"{manner}: {' | '.join(line.strip() for line in lines) or 'its log is empty'}"
