"""Runs a stage in a process of its own: its log is kept, and nothing it does can take the build down.

The child starts with a fixed hash seed and without address randomisation, so that the same input gives the same
bytes. It is a plain function by name: `module:function`, called with keyword arguments that JSON can hold.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import json
import os
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from kokoro_tvm.errors import BuildError, KokoroTvmError, ValidationError

__all__ = ["run_child"]

_TAIL = 15  # lines of the log an error shows
_ADDR_NO_RANDOMIZE = 0x0040000
_MARK = "KOKORO_TVM_CHILD"
_BEAT = 10.0  # seconds between signs of life


def run_child(
    function: str,
    arguments: Mapping[str, Any],
    log: Path,
    timeout_s: float,
    what: str,
    beat: Callable[[float], None] = lambda elapsed: None,
) -> None:
    """Calls `function(**arguments)` in a child process, its output in `log`; `beat` is told the seconds so far.

    Raises the child's own error where it has one to tell, else BuildError saying how it ended and the log's end.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    outcome = log.with_suffix(".error")
    outcome.unlink(missing_ok=True)
    job = json.dumps({"function": function, "arguments": arguments, "outcome": str(outcome)})
    environment = os.environ | {"PYTHONHASHSEED": "0"}
    started = time.monotonic()
    with log.open("w", encoding="utf-8") as stream:
        child = subprocess.Popen(
            [sys.executable, "-m", "kokoro_tvm.build.child"],
            stdin=subprocess.PIPE,
            stdout=stream,
            stderr=subprocess.STDOUT,
            text=True,
            env=environment,
            start_new_session=True,
        )
        try:
            _wait(child, job, started, timeout_s, beat)
        except subprocess.TimeoutExpired:
            raise BuildError(f"{what} did not end within {timeout_s:g} s and was stopped.{_end_of(log)}") from None
        finally:
            if child.poll() is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(child.pid, signal.SIGKILL)
                child.wait()
    if child.returncode == 0:
        return
    if outcome.is_file():
        told = json.loads(outcome.read_text(encoding="utf-8"))
        outcome.unlink()
        kind = ValidationError if told["exit_code"] == ValidationError.exit_code else BuildError
        raise kind(f"{what}: {told['message']}")
    raise BuildError(f"{what} {_manner(child.returncode)}.{_end_of(log)}")


def _wait(child: Any, job: str, started: float, timeout_s: float, beat: Callable[[float], None]) -> None:
    with contextlib.suppress(BrokenPipeError):  # a child that died at once tells why in its log
        child.stdin.write(job)
        child.stdin.close()
    while True:
        elapsed = time.monotonic() - started
        if elapsed >= timeout_s:
            raise subprocess.TimeoutExpired(child.args, timeout_s)
        try:
            child.wait(min(_BEAT, timeout_s - elapsed))
            return
        except subprocess.TimeoutExpired:
            beat(time.monotonic() - started)


def _manner(returncode: int) -> str:
    if returncode >= 0:
        return f"failed with exit status {returncode}"
    hint = " (out of memory?)" if returncode == -signal.SIGKILL else ""
    return f"was ended by signal {signal.Signals(-returncode).name}{hint}"


def _end_of(log: Path) -> str:
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()[-_TAIL:]
    shown = "".join(f"\n    {line}" for line in lines) or "\n    (empty)"
    return f" The end of its log, {log}:{shown}"


def _without_randomisation() -> None:
    """Starts this very program again with fixed addresses, once; where the system refuses, bytes may differ."""
    if os.environ.get(_MARK) == "1":
        return
    os.environ[_MARK] = "1"
    if sys.platform == "linux" and ctypes.CDLL(None).personality(_ADDR_NO_RANDOMIZE) != -1:
        os.execv(sys.executable, [sys.executable, "-m", "kokoro_tvm.build.child"])


def _main() -> int:
    _without_randomisation()
    job = json.load(sys.stdin)
    module, _, name = job["function"].partition(":")
    try:
        getattr(importlib.import_module(module), name)(**job["arguments"])
    except KokoroTvmError as error:
        traceback.print_exc()
        Path(job["outcome"]).write_text(
            json.dumps({"message": str(error), "exit_code": error.exit_code}), encoding="utf-8"
        )
        return error.exit_code
    except Exception as error:
        # The whole trace is in the log; the message is what a reader needs first, and it comes last there.
        traceback.print_exc()
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(_main())
