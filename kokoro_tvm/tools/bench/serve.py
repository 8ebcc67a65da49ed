"""The child's side of a conversation: a line of JSON in, a line of JSON out, until the parent is gone."""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, TextIO

__all__ = ["Answers", "private_stdout", "resident_bytes", "serve"]

_PR_SET_PDEATHSIG = 1


Request = dict[str, Any]
Answers = Callable[[Request], dict[str, Any]]


def serve(opened: Callable[[Request], tuple[dict[str, Any], Answers]]) -> None:
    """Answers line by line until standard input ends. An exception ends the process, its traceback logged.

    opened: for the first request, its answer, and what answers the others.
    """
    # A stopped process would outlive a killed parent for ever, with all its memory.
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    out = private_stdout()
    answer, answers = opened(json.loads(sys.stdin.readline()))
    print(json.dumps(answer), file=out, flush=True)
    for line in sys.stdin:
        print(json.dumps(answers(json.loads(line))), file=out, flush=True)


def private_stdout() -> TextIO:
    """Standard output for ourselves; what anybody else prints from now on goes to standard error."""
    mine = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return mine


def resident_bytes(name: Literal["VmHWM", "VmRSS"], process: int | Literal["self"] = "self") -> int | None:
    """The memory that a process has resident (VmRSS), or has had at the most (VmHWM); None if the system does
    not tell. `getrusage` would count what the parent had when it forked, too."""
    status = Path(f"/proc/{process}/status")
    if not status.is_file():
        return None
    for line in status.read_text(encoding="ascii").splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) * 1024
    return None
