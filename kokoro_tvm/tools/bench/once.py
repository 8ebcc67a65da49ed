"""A cold start of a peer: `python -m kokoro_tvm.tools.bench.once REQUEST.json` speaks to a WAV and says so.

What our own `kokoro-tvm say` does, with the least any program around the peer has to do: the tokens are
ready, nothing of this project but the engine is imported, and the standard library writes the WAV.
"""

from __future__ import annotations

import json
import sys
import wave
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kokoro_tvm.common.constants import SAMPLE_RATE
from kokoro_tvm.tools.bench.engine import BenchUtterance, EngineSpec, open_engine
from kokoro_tvm.tools.bench.serve import private_stdout

__all__ = ["main", "pcm"]


def main() -> None:
    out = private_stdout()
    request = json.loads(Path(sys.argv[1]).read_bytes())
    engine = open_engine(EngineSpec(**request["engine"]))
    spoken = engine.speak([BenchUtterance.of(entry) for entry in request["utterances"]])
    with wave.open(request["wav"], "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(SAMPLE_RATE)
        file.writeframes(pcm(np.concatenate(spoken.audio)))
    print(request["wav"], file=out, flush=True)


def pcm(audio: NDArray[Any]) -> bytes:
    """Float audio (samples,) in 16 bits."""
    return (np.clip(audio, -1, 1) * 32767).astype("<i2").tobytes()


if __name__ == "__main__":
    main()
