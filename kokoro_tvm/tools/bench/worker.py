"""Worker process of a measured system: `python -m kokoro_tvm.tools.bench.worker`.

It reads requests as lines of JSON from standard input and answers each with a line. The first request opens
an engine, the others are utterances to speak.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
import time
import wave
from collections.abc import Callable
from pathlib import Path
from typing import Any, TextIO

import numpy as np
from numpy.typing import NDArray

from kokoro_tvm.common.constants import SAMPLE_RATE
from kokoro_tvm.tools.bench.engine import BenchUtterance, EngineSpec, open_engine

_PR_SET_PDEATHSIG = 1

Request = dict[str, Any]
Respond = Callable[[Request], dict[str, Any]]
"""Answers one request."""


def serve(open_session: Callable[[Request], tuple[dict[str, Any], Respond]]) -> None:
    """Answer requests until standard input ends.

    Args:
        open_session: Called with the first request. Returns its answer, and what answers the others.
    """
    # A stopped process would outlive a killed parent, with all its memory.
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    out = _take_stdout()
    answer, respond = open_session(json.loads(sys.stdin.readline()))
    print(json.dumps(answer), file=out, flush=True)
    for line in sys.stdin:
        print(json.dumps(respond(json.loads(line))), file=out, flush=True)


def _take_stdout() -> TextIO:
    """Return standard output, and redirect what libraries print there to standard error."""
    stdout = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return stdout


def open_session(request: Request) -> tuple[dict[str, Any], Respond]:
    """Open the engine of a request. Utterances are answered with seconds, samples and memory.

    A request with `wav` also writes the audio to that file. One with `npy` speaks without noise and writes
    float samples.
    """
    engine = open_engine(EngineSpec(**request))

    def respond(request: Request) -> dict[str, Any]:
        """Speak a request's utterances, and return times, samples and memory."""
        utterances = [BenchUtterance.from_json(data) for data in request["utterances"]]
        start = time.perf_counter()
        output = engine.speak(utterances, noise="npy" not in request)
        seconds = time.perf_counter() - start
        if "wav" in request:
            _write_wav(request["wav"], np.concatenate(output.audio))
        if "npy" in request:
            np.save(request["npy"], np.concatenate(output.audio))
        return {
            "seconds": seconds,
            "samples": [int(audio.size) for audio in output.audio],
            "components": output.components,
            "peak_rss_bytes": _peak_rss_bytes(),
        }

    return {"details": engine.details}, respond


def pcm(audio: NDArray[Any]) -> bytes:
    """Convert float audio (samples,) to 16-bit PCM."""
    return (np.clip(audio, -1, 1) * 32767).astype("<i2").tobytes()


def _write_wav(path: str, audio: NDArray[Any]) -> None:
    """Write float audio (samples,) as 16-bit WAV."""
    with wave.open(path, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(SAMPLE_RATE)
        file.writeframes(pcm(audio))


def _peak_rss_bytes() -> int | None:
    """Return the peak resident memory of this process, or None if the system does not report it."""
    # getrusage would also count the memory of the parent at the time of the fork; psutil has no peak.
    status = Path("/proc/self/status")
    if not status.is_file():
        return None
    lines = status.read_text(encoding="ascii").splitlines()
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:")), None)


if __name__ == "__main__":
    serve(open_session)
