"""The way back from an export: each folding undone, checked against what torch and ONNX compute."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
import torch
from onnx import TensorProto, helper, numpy_helper

from kokoro_tvm.common.errors import BuildError
from kokoro_tvm.model.formats.onnx import convert_lstm, find_module, read, split_weight_norm


def save(path: Path, nodes: list[onnx.NodeProto], tensors: dict[str, torch.Tensor]) -> Path:
    initializers = [numpy_helper.from_array(tensor.numpy(), name) for name, tensor in tensors.items()]
    unused = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in ("x", "y")]
    graph = helper.make_graph(nodes, "test", unused[:1], unused[1:], initializers)
    path.write_bytes(helper.make_model(graph).SerializeToString())
    return path


def node(op: str, name: str, *weights: str) -> onnx.NodeProto:
    return helper.make_node(op, ["x", *weights], ["y"], name)


def test_read_undoes_every_folding(tmp_path: Path) -> None:
    linear, conv, bias = torch.randn(3, 2), torch.randn(4, 2, 3), torch.randn(4)
    nodes = [
        node("MatMul", "/encoder/bert/dense/MatMul", "onnx::MatMul_1"),
        node("MatMul", "/encoder/bert/dense_1/MatMul", "onnx::MatMul_1"),
        node(
            "Conv",
            "/encoder/text_encoder/cnn.0/cnn.0.0/Conv",
            "/Mul_output_0",
            "encoder.text_encoder.cnn.0.0.bias",
        ),
        node("Conv", "/encoder/F0.1/conv1/Conv", "/Mul_output_1"),
        node("ConvTranspose", "/decoder/decoder/generator/ups.0/ConvTranspose", "/Mul_output_2"),
    ]
    tensors = {
        "onnx::MatMul_1": linear.T.contiguous(),
        "/Mul_output_0": conv,
        "encoder.text_encoder.cnn.0.0.bias": bias,
        "/Mul_output_1": conv + 1,
        "/Mul_output_2": conv + 2,
        "decoder.decoder.generator.stft.basis": torch.randn(5),
    }
    shapes = {
        "bert.dense.weight": (3, 2),
        "text_encoder.cnn.0.0.bias": (4,),
        "text_encoder.cnn.0.0.weight_v": (4, 2, 3),
        "text_encoder.cnn.0.0.weight_g": (4, 1, 1),
        "predictor.F0.1.conv1.weight_v": (4, 2, 3),
        "predictor.F0.1.conv1.weight_g": (4, 1, 1),
        "decoder.generator.ups.0.weight_v": (4, 2, 3),
        "decoder.generator.ups.0.weight_g": (4, 1, 1),
        "bert.pooler.weight": (2, 2),
    }
    state = read(save(tmp_path / "m.onnx", nodes, tensors), shapes)
    assert state.keys() == shapes.keys() - {"bert.pooler.weight"}
    assert all(tuple(state[key].shape) == shapes[key] and state[key].dtype == torch.float32 for key in state)
    assert torch.equal(state["bert.dense.weight"], linear)
    assert torch.equal(state["text_encoder.cnn.0.0.bias"], bias)
    for module, weight in (("text_encoder.cnn.0.0", conv), ("predictor.F0.1.conv1", conv + 1)):
        folded = torch._weight_norm(state[f"{module}.weight_v"], state[f"{module}.weight_g"], 0)
        torch.testing.assert_close(folded, weight, rtol=1e-6, atol=0)


@pytest.mark.parametrize(
    ("name", "leaf", "expected"),
    [
        ("/encoder/bert_encoder/MatMul", "weight", "bert_encoder"),
        ("/decoder/decoder/asr_res/asr_res.0/Conv", "weight_v", "decoder.asr_res.0"),
        ("/encoder/shared/LSTM", "weight_ih_l0", "predictor.shared"),
        ("/encoder/bert/layers.0/ffn_11/MatMul", "weight", "bert.layers.0.ffn"),
        ("/encoder/bert/layers.0/ffn_output/MatMul", "weight", "bert.layers.0.ffn_output"),
        ("/encoder/nobody/MatMul", "weight", None),
        ("/elsewhere/bert_encoder/MatMul", "weight", None),
    ],
)
def test_module_path_follows_node_names(name: str, leaf: str, expected: str | None) -> None:
    known = ["bert_encoder.weight", "decoder.asr_res.0.weight_v", "predictor.shared.weight_ih_l0",
             "bert.layers.0.ffn.weight", "bert.layers.0.ffn_output.weight"]  # fmt: skip
    assert find_module(name, leaf, dict.fromkeys(known, ())) == expected


def test_lstm_tensors_compute_the_same_as_onnx() -> None:
    from onnx.reference import ReferenceEvaluator

    torch.manual_seed(0)
    width, hidden, length = 3, 4, 6
    weight, recurrence = torch.randn(2, 4 * hidden, width), torch.randn(2, 4 * hidden, hidden)
    bias, x = torch.randn(2, 8 * hidden), torch.randn(length, 1, width)
    lstm = torch.nn.LSTM(width, hidden, bidirectional=True)
    lstm.load_state_dict(convert_lstm(weight, recurrence, bias), strict=True)
    with torch.no_grad():
        expected, _ = lstm(x)
    # ONNX's reference knows one direction only, so the backward one runs over the reversed sequence.
    for direction, order in enumerate((1, -1)):
        lstm_node = helper.make_node("LSTM", ["x", "w", "r", "b"], ["y"], hidden_size=hidden)
        infos = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in "xwrby"]
        model = helper.make_model(helper.make_graph([lstm_node], "lstm", infos[:-1], infos[-1:]))
        feeds = {"x": x.numpy()[::order].copy()}
        for name, tensor in (("w", weight), ("r", recurrence), ("b", bias)):
            feeds[name] = tensor[direction : direction + 1].numpy()
        (actual,) = ReferenceEvaluator(model).run(None, feeds)
        half = expected[:, :, direction * hidden : (direction + 1) * hidden].numpy()
        np.testing.assert_allclose(
            np.asarray(actual).reshape(length, 1, hidden)[::order], half, rtol=1e-4, atol=1e-5
        )


def test_split_weight_norm_use_the_first_axis() -> None:
    layer = torch.nn.utils.weight_norm(torch.nn.ConvTranspose1d(3, 5, 4))
    with torch.no_grad():
        layer.weight_g.mul_(2.0)
        x, folded = torch.randn(1, 3, 7), torch._weight_norm(layer.weight_v, layer.weight_g, 0)
        expected = layer(x)
        for name, value in split_weight_norm(folded).items():
            getattr(layer, name).copy_(value)
        torch.testing.assert_close(layer(x), expected)


def test_read_refuses_a_weight_without_a_module(tmp_path: Path) -> None:
    path = save(tmp_path / "m.onnx", [node("MatMul", "/encoder/novel/MatMul", "w")], {"w": torch.randn(7, 5)})
    with pytest.raises(BuildError, match=r"\(7, 5\) of node '/encoder/novel/MatMul' belong to no module"):
        read(path, {"bert_encoder.weight": (5, 7)})


def test_read_refuses_a_named_tensor_without_a_module(tmp_path: Path) -> None:
    path = save(tmp_path / "m.onnx", [], {"encoder.novel.bias": torch.randn(5)})
    with pytest.raises(BuildError, match=r"'encoder\.novel\.bias' has no place"):
        read(path, {"bert_encoder.weight": (5, 7)})


def test_read_refuses_two_tensors_for_one_key(tmp_path: Path) -> None:
    nodes = [node("MatMul", "/encoder/dense/MatMul", "a"), node("MatMul", "/encoder/dense_1/MatMul", "b")]
    path = save(tmp_path / "m.onnx", nodes, {"a": torch.zeros(2, 2), "b": torch.ones(2, 2)})
    with pytest.raises(BuildError, match=r"second, different tensor for 'dense\.weight'"):
        read(path, {"dense.weight": (2, 2)})


def test_read_refuses_a_truncated_file(tmp_path: Path) -> None:
    path = save(tmp_path / "m.onnx", [], {"encoder.bias": torch.randn(500)})
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(BuildError, match="not an ONNX file, or a part of one"):
        read(path, {"bias": (500,)})


def test_read_refuses_external_data(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes(b"\0" * 8)
    tensor = numpy_helper.from_array(np.zeros(2, np.float32), "encoder.bias")
    onnx.external_data_helper.set_external_data(tensor, location=str(secret))
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    graph = helper.make_graph([], "test", [], [], [tensor])
    (tmp_path / "m.onnx").write_bytes(helper.make_model(graph).SerializeToString())
    with pytest.raises(BuildError, match="lie outside of the file"):
        read(tmp_path / "m.onnx", {"bias": (2,)})


@pytest.mark.slow("imports PyTorch as several CPUs would have it")
def test_split_weight_norm_have_pinned_bits() -> None:
    """The norm that torch itself computes depends on the width of the vectors it adds with."""
    script = (
        "import hashlib, torch\n"
        "from kokoro_tvm.model.formats.onnx import split_weight_norm\n"
        "mixed = torch.arange(1090 * 3) * 2654435761 % 1000003 * 7919 % 16777213 - 8388606\n"
        "weight = (mixed.to(torch.float32) / 2**23).reshape(1090, 1, 3)\n"  # as decoder.decode.3.pool has it
        "print(hashlib.sha256(split_weight_norm(weight)['weight_g'].numpy().tobytes()).hexdigest())\n"
    )
    digests = {
        subprocess.run(
            [sys.executable, "-c", script],
            env=os.environ | {"ATEN_CPU_CAPABILITY": capability},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for capability in ("default", "avx2", "avx512")
    }
    assert len(digests) == 1
