"""The process a system speaks in, `python -m kokoro_tvm.tools.bench.worker`; contender.py drives it."""

from __future__ import annotations

import time
from typing import Any

from kokoro_tvm.tools.bench.engine import BenchUtterance, EngineSpec, open_engine
from kokoro_tvm.tools.bench.serve import Answers, resident_bytes, serve

__all__ = ["opened"]


def opened(request: dict[str, Any]) -> tuple[dict[str, Any], Answers]:
    """The request names the engine to open, those that follow utterances to speak."""
    engine = open_engine(EngineSpec(**request))

    def answer(request: dict[str, Any]) -> dict[str, Any]:
        utterances = [BenchUtterance.of(entry) for entry in request["utterances"]]
        started = time.perf_counter()
        spoken = engine.speak(utterances)
        seconds = time.perf_counter() - started
        return {
            "seconds": seconds,
            "samples": [int(audio.size) for audio in spoken.audio],
            "components": spoken.components,
            "peak_rss_bytes": resident_bytes("VmHWM"),
        }

    return {"details": engine.details}, answer


if __name__ == "__main__":
    serve(opened)
