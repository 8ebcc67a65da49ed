"""Cold starts: from the start of a process to a WAV on the disk."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from kokoro_tvm.tools.bench.child import OURS, MeasuredProcessError, environment, last_words, python_module
from kokoro_tvm.tools.bench.engine import BenchUtterance
from kokoro_tvm.tools.bench.systems import System
from kokoro_tvm.tools.bench.texts import TEXTS, VOICE

__all__ = ["cold_command", "cold_start", "first_line", "import_command"]


def cold_command(system: System, utterance: BenchUtterance, folder: Path, wav: Path) -> list[str]:
    """The command that speaks the short text to `wav`: `kokoro-tvm say` for ours, `once` for peers."""
    if system.ours:
        phonemes = TEXTS[0].utterances[0]
        options = ["--bundle", system.engine.path, "--voice", VOICE, "-o", str(wav)]
        return [*OURS, "say", "--phonemes", phonemes, *options]
    request = folder / f"{system.name}.json"
    job = {"engine": vars(system.engine), "utterances": [vars(utterance)], "wav": str(wav)}
    request.write_text(json.dumps(job), encoding="utf-8")
    return [*python_module("kokoro_tvm.tools.bench.once"), str(request)]


def import_command(system: System) -> list[str]:
    """The command that imports what a cold start of the system imports, and prints a line then."""
    return [sys.executable, "-c", f"import {', '.join(system.imports)}; print()"]


def cold_start(
    command: Sequence[str], threads: int, wav: Path, log: Path, variables: Mapping[str, str] | None = None
) -> float:
    """Seconds until the process says, in its first line, that the WAV is written, see `first_line`.

    Raises ChildError when it writes none, too.
    """
    wav.unlink(missing_ok=True)
    seconds = first_line(command, threads, log, variables)
    if not wav.is_file():
        raise MeasuredProcessError(f"the cold start {last_words(0, log)}")
    return seconds


def first_line(
    command: Sequence[str], threads: int, log: Path, variables: Mapping[str, str] | None = None
) -> float:
    """Seconds until the process prints its first line.

    What it takes to end afterwards does not count. Raises ChildError when it fails.
    """
    with log.open("wb") as errors:
        started = time.perf_counter()
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=errors, env=environment(threads, variables)
        ) as process:
            assert process.stdout is not None  # a pipe
            process.stdout.readline()
            seconds = time.perf_counter() - started
            process.stdout.read()
            status = process.wait()
    if status != 0:
        raise MeasuredProcessError(f"the cold start {last_words(status, log)}")
    return seconds
