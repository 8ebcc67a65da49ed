"""espeak-ng in a process of its own, because faults of its native code end the process that runs it.

The process is started with the first request, and anew with the next one after it has died. It ends with this
one, whose end closes its standard input. A fork does not share it: the child starts its own.
"""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from importlib.util import find_spec

from kokoro_tvm.common.errors import KokoroTvmError
from kokoro_tvm.runtime.forks import held_at_forks

__all__ = ["EspeakError", "exclusive_espeak", "phonemize"]

TIMEOUT_S = 60.0
"""Seconds for an answer, the start of the process included; a sentence takes a thousandth of one."""

# Reentrant, because an import within may fork.
_lock = held_at_forks()
_process: subprocess.Popen[str] | None = None


class EspeakError(KokoroTvmError):
    """espeak-ng could not read a text: it died, or could not be started."""


@contextmanager
def exclusive_espeak() -> Iterator[None]:
    """While it is entered, no other thread uses espeak-ng."""
    with _lock:
        yield


def phonemize(text: str, language: str, **options: str) -> str:
    """Return espeak-ng's phonemes of a text, "" where it has none; options are phonemizer's.

    Raises:
        ImportError: phonemizer-fork or espeakng-loader is not installed.
        EspeakError: the process died, or gave no answer in time. The next call starts another.
    """
    request = json.dumps({"language": language, "options": options, "text": text})
    with _lock:
        process = _running()
        try:
            answer = _ask(process, request)
        except BaseException:  # an interrupted request leaves its answer in the pipe
            _end()
            raise
    if "missing" in answer:
        raise ImportError(answer["error"], name=answer["missing"])
    if "error" in answer:
        raise EspeakError(f"espeak-ng cannot read {language}: {answer['error']}")
    return answer["phonemes"]


def _running() -> subprocess.Popen[str]:
    global _process
    if _process is not None and _process.poll() is not None:  # it died between two requests
        _end()
    if _process is None:
        for name in ("espeakng_loader", "phonemizer"):
            if find_spec(name) is None:
                raise ImportError(f"No module named {name!r}", name=name)
        source = files(__package__).joinpath("espeak_child.py").read_text(encoding="utf-8")
        if not sys.executable:
            raise EspeakError("espeak-ng cannot be started: this process knows no Python interpreter.")
        try:
            _process = subprocess.Popen(
                [sys.executable, "-I", "-c", source],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                encoding="ascii",
            )
        except OSError as error:
            raise EspeakError(f"espeak-ng cannot be started: {error.strerror or error}.") from error
        _send(_process, json.dumps(sys.path))
    return _process


def _ask(process: subprocess.Popen[str], request: str) -> dict[str, str]:
    assert process.stdout is not None
    timer = threading.Timer(TIMEOUT_S, process.kill)
    timer.daemon = True
    timer.start()
    try:
        _send(process, request)
        line = process.stdout.readline()
    finally:
        timer.cancel()
    if not line.endswith("\n"):
        raise EspeakError(f"espeak-ng ended while it read a text (exit status {process.wait()}).")
    answer: dict[str, str] = json.loads(line)
    return answer


def _send(process: subprocess.Popen[str], line: str) -> None:
    assert process.stdin is not None
    try:
        process.stdin.write(line + "\n")
        process.stdin.flush()
    except OSError:  # it is dead: there will be no answer, which `_ask` reports
        return


def _end() -> None:
    """Kill the process and close its pipes."""
    global _process
    process, _process = _process, None
    if process is None:
        return
    process.kill()
    process.wait()
    _close_pipes(process)


@atexit.register
def _finish() -> None:
    """Close the process's input, which ends it."""
    if _process is not None:
        _close_pipes(_process)
        _process.wait()


def _close_pipes(process: subprocess.Popen[str]) -> None:
    for pipe in (process.stdin, process.stdout):
        assert pipe is not None
        try:
            pipe.close()
        except OSError:  # what is buffered cannot be written to a dead process
            continue


def _leave() -> None:
    """In a forked child: leave the process to the parent."""
    global _process
    process, _process = _process, None
    if process is not None:
        _close_pipes(process)
        process.returncode = 0  # it is no child of this process, which must not wait for it


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave)
