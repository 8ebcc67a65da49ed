"""An engine without a model for worker processes of tests; its path decides how it behaves.

"refuse": does not open. "crash": dies of a signal when it speaks. "mute": the same, but only without noise.
"chatty": prints to standard output. "environment": returns an environment variable as details. Anything else:
returns 100 frames of silence an utterance, without noise a sine wave, and 0.01 s for the component "decoder".
"""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from kokoro_tvm.tools.bench.engine import BenchUtterance, EngineOutput, EngineSpec


def sine(samples: int) -> NDArray[np.float32]:
    return np.sin(0.1 * np.arange(samples, dtype=np.float32))


class FakeEngine:
    def __init__(self, spec: EngineSpec) -> None:
        if spec.path == "refuse":
            raise RuntimeError("this engine refuses")
        self._path = spec.path
        self.details = f"fake, {spec.threads} threads"
        if spec.path == "environment":
            self.details = f"ONEDNN_MAX_CPU_ISA={os.environ.get('ONEDNN_MAX_CPU_ISA', '')}"

    def speak(self, utterances: Sequence[BenchUtterance], noise: bool = True) -> EngineOutput:
        if self._path == "crash" or (self._path == "mute" and not noise):
            os.kill(os.getpid(), signal.SIGSEGV)
        if self._path == "chatty":
            os.write(1, b"libraries talk\n")
        audio = np.zeros(60000, np.float32) if noise else sine(60000)
        return EngineOutput([audio for _ in utterances], {"decoder": 0.01})
