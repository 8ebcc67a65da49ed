"""The ONNX export in ONNX Runtime and in OpenVINO, on the CPU."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kokoro_tvm.tools.bench.engine import BenchUtterance, EngineOutput, EngineSpec

__all__ = ["OnnxRuntimeEngine", "OpenVinoEngine"]


class OnnxRuntimeEngine:
    """ONNX Runtime with its default optimisations."""

    def __init__(self, spec: EngineSpec) -> None:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = spec.threads
        self._session = onnxruntime.InferenceSession(spec.path, options, providers=["CPUExecutionProvider"])
        self.details = spec.precision

    def speak(self, utterances: Sequence[BenchUtterance]) -> EngineOutput:
        return EngineOutput([self._session.run(None, _feeds(u))[0].reshape(-1) for u in utterances])


class OpenVinoEngine:
    """OpenVINO tuned for latency, in float32 or in the precision it chooses itself; lengths stay open."""

    def __init__(self, spec: EngineSpec) -> None:
        import openvino

        options = {"PERFORMANCE_HINT": "LATENCY", "INFERENCE_NUM_THREADS": spec.threads}
        if spec.precision == "float32":
            options["INFERENCE_PRECISION_HINT"] = "f32"
        compiled = openvino.Core().compile_model(spec.path, "CPU", options)
        self._request = compiled.create_infer_request()
        self.details = compiled.get_property("INFERENCE_PRECISION_HINT").to_string()

    def speak(self, utterances: Sequence[BenchUtterance]) -> EngineOutput:
        # A copy: the next request writes over the memory of this one's result.
        return EngineOutput([np.array(self._request.infer(_feeds(u))[0]).reshape(-1) for u in utterances])


def _feeds(utterance: BenchUtterance) -> dict[str, Any]:
    """The inputs of the ONNX export: ids int64 (1, tokens), style float32 (1, 256), speed float32 (1,)."""
    return {
        "input_ids": np.array([utterance.tokens], np.int64),
        "style": np.array([utterance.style], np.float32),
        "speed": np.ones(1, np.float32),
    }
