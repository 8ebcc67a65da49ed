"""Engines with real libraries and tiny models."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import kokoro_tvm.runtime
from kokoro_tvm.common.cpu_features import features_of_cpu
from kokoro_tvm.runtime import Speech
from kokoro_tvm.tools.bench.child import environment
from kokoro_tvm.tools.bench.engine import BenchUtterance, EngineSpec, open_engine
from kokoro_tvm.tools.bench.systems import ISA_VARIABLES

SHORT, LONG = BenchUtterance((0, 7, 0), (0.5,) * 256), BenchUtterance((0, 7, 8, 9, 0), (0.5,) * 256)


@pytest.fixture
def export(tmp_path: Path) -> Path:
    """Write an ONNX file with the inputs of the export; its waveform is the token ids times the speed."""
    from onnx import TensorProto, helper, save

    inputs = [
        helper.make_tensor_value_info("input_ids", TensorProto.INT64, [1, "length"]),
        helper.make_tensor_value_info("style", TensorProto.FLOAT, [1, 256]),
        helper.make_tensor_value_info("speed", TensorProto.FLOAT, [1]),
    ]
    output = helper.make_tensor_value_info("waveform", TensorProto.FLOAT, [1, "samples"])
    nodes = [
        helper.make_node("Cast", ["input_ids"], ["floats"], to=TensorProto.FLOAT),
        helper.make_node("ReduceMax", ["style"], ["half"], keepdims=0),
        helper.make_node("Mul", ["floats", "speed"], ["faster"]),
        helper.make_node("Mul", ["faster", "half"], ["waveform"]),
    ]
    graph = helper.make_graph(nodes, "g", inputs, [output])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    save(model, str(tmp_path / "model.onnx"))
    return tmp_path / "model.onnx"


@pytest.mark.slow("needs the peers' packages")
@pytest.mark.parametrize("precision", ["float32", "default"])
@pytest.mark.parametrize("name", ["OnnxRuntimeEngine", "OpenVinoEngine"])
def test_onnx_engines(export: Path, name: str, precision: str) -> None:
    pytest.importorskip(name.removesuffix("Engine").lower())
    engine = open_engine(EngineSpec(f"kokoro_tvm.tools.bench.engines:{name}", str(export), 1, precision))
    first, second = engine.speak([LONG, SHORT]).audio
    assert first.tolist() == [0.0, 3.5, 4.0, 4.5, 0.0]
    assert second.tolist() == [0.0, 3.5, 0.0]
    assert engine.details


@pytest.mark.slow("needs the peers' packages")
def test_openvino_computes_in_float32(export: Path) -> None:
    pytest.importorskip("openvino")
    engine = open_engine(
        EngineSpec("kokoro_tvm.tools.bench.engines:OpenVinoEngine", str(export), 1, "float32")
    )
    assert engine.details == "float32"


@pytest.mark.slow("needs the peers' packages")
@pytest.mark.skipif("avx512f" not in (features_of_cpu() or ()), reason="this CPU has no more than AVX2")
@pytest.mark.parametrize("restricted", [False, True])
def test_pytorch_and_openvino_follow_the_isa_variables(restricted: bool) -> None:
    pytest.importorskip("openvino")
    code = (
        "import openvino, torch\n"
        "print(torch.backends.cpu.get_cpu_capability())\n"
        "torch.nn.functional.conv1d(torch.ones(1, 64, 512), torch.ones(64, 64, 3))\n"
        "print('WINOGRAD' in openvino.Core().get_property('CPU', 'OPTIMIZATION_CAPABILITIES'))\n"
    )
    variables = {**environment(1, ISA_VARIABLES["avx2"] if restricted else {}), "ONEDNN_VERBOSE": "1"}
    command = [sys.executable, "-c", code]
    process = subprocess.run(command, env=variables, capture_output=True, text=True)
    assert process.returncode == 0, process.stderr
    lines = process.stdout.splitlines()
    convolutions = {line.split(",")[6] for line in lines if ",exec,cpu,convolution," in line}
    assert (lines[0], convolutions) == (
        ("AVX2", {"jit:avx2"}) if restricted else ("AVX512", {"jit:avx512_core"})
    )
    assert lines[-1] == str(not restricted)  # it has Winograd with AVX-512


def test_bundle_engine_sums_components_over_utterances(monkeypatch: pytest.MonkeyPatch) -> None:
    class FakeSynthesizer:
        def __init__(self, path: str, threads: int) -> None:
            self.bundle = self
            self.components = ("bert", "decoder")
            self.gpu = None
            self.precision = f"{path} {threads}"

        def run(
            self,
            tokens: tuple[int, ...],
            style: tuple[float, ...],
            noise: Callable[[int], NDArray[np.float32]] | None,
        ) -> Speech:
            timings = {"bert": 0.25, "decoder": len(tokens) / 2}
            audio = np.ones(len(tokens), np.float32) if noise is None else noise(len(tokens))
            return Speech(audio, 24000, np.ones(1, np.int64), timings)

    monkeypatch.setattr(kokoro_tvm.runtime, "Synthesizer", FakeSynthesizer)
    engine = open_engine(EngineSpec("kokoro_tvm.tools.bench.engines:BundleEngine", "a/bundle", 3, "float32"))
    output = engine.speak([SHORT, LONG])
    assert engine.details == "a/bundle 3"
    assert [audio.size for audio in output.audio] == [3, 5]
    assert output.components == {"bert": 0.5, "decoder": 4.0}
    assert output.audio[0].all() and not engine.speak([SHORT], noise=False).audio[0].any()


def test_workers_import_only_what_a_system_needs() -> None:
    code = """
import sys
import kokoro_tvm.tools.bench.worker, kokoro_tvm.tools.bench.engines
print({name.partition(".")[0] for name in sys.modules}
      & set("torch tvm tvm_ffi kokoro transformers onnxruntime openvino pydantic rich typer psutil".split()))
import kokoro_tvm.runtime
print({"torch", "tvm", "pydantic"} & set(sys.modules))
"""
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert process.stdout.split("\n")[:2] == ["set()", "set()"]
