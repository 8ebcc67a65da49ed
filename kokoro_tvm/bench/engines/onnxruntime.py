"""ONNX Runtime on the CPU, with its default optimisations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kokoro_tvm.bench.engine import EngineSpec, Spoken, Utterance

__all__ = ["OnnxRuntimeEngine", "feeds", "open_engine"]


class OnnxRuntimeEngine:
    """An ONNX export with the inputs `input_ids`, `style` and `speed`."""

    def __init__(self, spec: EngineSpec) -> None:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = spec.threads
        self._session = onnxruntime.InferenceSession(spec.path, options, providers=["CPUExecutionProvider"])
        self.details = spec.precision

    def speak(self, utterances: Sequence[Utterance]) -> Spoken:
        return Spoken([self._session.run(None, feeds(u))[0].reshape(-1) for u in utterances])


def feeds(utterance: Utterance) -> dict[str, Any]:
    """The inputs of the ONNX export: ids int64 (1, tokens), style float32 (1, 256), speed float32 (1,)."""
    return {
        "input_ids": np.array([utterance.tokens], np.int64),
        "style": np.array([utterance.style], np.float32),
        "speed": np.ones(1, np.float32),
    }


open_engine = OnnxRuntimeEngine
