"""OpenVINO on the CPU: tuned for latency, in float32 or in the precision it chooses itself."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kokoro_tvm.bench.engine import EngineSpec, Spoken, Utterance
from kokoro_tvm.bench.engines.onnxruntime import feeds

__all__ = ["OpenVinoEngine", "open_engine"]


class OpenVinoEngine:
    """The ONNX export compiled for the CPU; its lengths stay open."""

    def __init__(self, spec: EngineSpec) -> None:
        import openvino

        options = {"PERFORMANCE_HINT": "LATENCY", "INFERENCE_NUM_THREADS": spec.threads}
        if spec.precision == "float32":
            options["INFERENCE_PRECISION_HINT"] = "f32"
        compiled = openvino.Core().compile_model(spec.path, "CPU", options)
        self._request = compiled.create_infer_request()
        self.details = compiled.get_property("INFERENCE_PRECISION_HINT").to_string()

    def speak(self, utterances: Sequence[Utterance]) -> Spoken:
        # A copy: the next request writes over the memory of this one's result.
        return Spoken([np.array(self._request.infer(feeds(u))[0]).reshape(-1) for u in utterances])


open_engine = OpenVinoEngine
