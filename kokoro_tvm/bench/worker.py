"""The process a system speaks in, `python -m kokoro_tvm.bench.worker`; contender.py drives it."""

from __future__ import annotations

import time
from typing import Any

from kokoro_tvm.bench.engine import Engine, EngineSpec, Utterance, open_engine
from kokoro_tvm.bench.serve import peak_rss_bytes, serve

__all__ = ["Worker", "main"]


class Worker:
    """The first request names the engine to open, the others utterances to speak."""

    def __init__(self) -> None:
        self._engine: Engine | None = None

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        if self._engine is None:
            self._engine = open_engine(EngineSpec(**request))
            return {"details": self._engine.details}
        utterances = [Utterance.of(entry) for entry in request["utterances"]]
        started = time.perf_counter()
        spoken = self._engine.speak(utterances)
        seconds = time.perf_counter() - started
        return {
            "seconds": seconds,
            "samples": [int(audio.size) for audio in spoken.audio],
            "components": spoken.components,
            "peak_rss_bytes": peak_rss_bytes(),
        }


def main() -> None:
    serve(Worker().answer)


if __name__ == "__main__":
    main()
