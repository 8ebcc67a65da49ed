"""Client of the espeak-ng process, which is separate because faults of native code end it.

The first request starts the process, and so does the next one after it died. It ends with its standard
input, and so with this process. A forked child starts its own.
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

TIMEOUT_S = 60.0
"""Seconds for an answer, including the start of the process. A sentence takes a millisecond."""

# Reentrant, because an import may fork.
_lock = held_at_forks()
_process: subprocess.Popen[str] | None = None


class EspeakError(KokoroTvmError):
    """espeak-ng could not read a text: it died, or could not be started."""


@contextmanager
def exclusive_espeak() -> Iterator[None]:
    """Keep other threads from using espeak-ng."""
    with _lock:
        yield


def phonemize(text: str, language: str, **options: str) -> str:
    """Return espeak-ng's phonemes of a text, "" if there are none.

    Args:
        text: The text.
        language: espeak-ng's name of its language.
        options: Of phonemizer.

    Raises:
        ImportError: phonemizer-fork or espeakng-loader is not installed.
        EspeakError: The process died or did not answer in time. The next call starts another.
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
    except OSError:  # it is dead, and `_ask` reports the missing answer
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
    """Close the input of the process, which ends it."""
    if _process is not None:
        _close_pipes(_process)
        _process.wait()


def _close_pipes(process: subprocess.Popen[str]) -> None:
    for pipe in (process.stdin, process.stdout):
        assert pipe is not None
        try:
            pipe.close()
        except OSError:  # buffered data cannot be written to a dead process
            continue


def _leave() -> None:
    """Leave the process to the parent of a forked child."""
    global _process
    process, _process = _process, None
    if process is not None:
        _close_pipes(process)
        process.returncode = 0  # it is no child of this process, so do not wait for it


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave)
