"""A model of four tensors and two voices, in every file form a source may give it in."""

from __future__ import annotations

import hashlib
import io
import tarfile
from pathlib import Path

import onnx
import torch
from onnx import helper, numpy_helper

__all__ = [
    "CONFIG",
    "REVISION",
    "SHAPES",
    "VOICES",
    "VOICE_BYTES",
    "archive",
    "nested",
    "onnx_bytes",
    "sha256",
]

CONFIG = {
    "file": "kokoro-82m.json",
    "sha256": "5abb01e2403b072bf03d04fde160443e209d7a0dad49a423be15196b9b43c17f",
}
REVISION = "f" * 40
SHAPES = {
    "bert.pooler.bias": (3,),
    "bert_encoder.weight": (3, 2),
    "bert_encoder.bias": (3,),
    "predictor.F0.0.norm1.norm.weight": (2,),
}
VOICE_BYTES = {
    name: bytes([fill, 0, 0, 63]) * (510 * 256) for name, fill in (("af_heart", 2), ("am_adam", 1))
}
VOICES = {
    "names": tuple(VOICE_BYTES),
    "sha256": hashlib.sha256(b"".join(VOICE_BYTES.values())).hexdigest(),
}


def onnx_bytes(state: dict[str, torch.Tensor]) -> bytes:
    """An export of the tiny model: the matrix transposed and nameless, found through its node."""
    tensors = [
        numpy_helper.from_array(state["bert_encoder.weight"].T.contiguous().numpy(), "onnx::MatMul_7"),
        numpy_helper.from_array(state["bert_encoder.bias"].numpy(), "encoder.bert_encoder.bias"),
    ]
    node = helper.make_node("MatMul", ["x", "onnx::MatMul_7"], ["y"], "/encoder/bert_encoder/MatMul")
    graph = helper.make_graph([node], "tiny", [], [], tensors)
    return bytes(helper.make_model(graph, producer_name=onnx.__name__).SerializeToString())


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def archive(path: Path, files: dict[str, bytes]) -> None:
    with tarfile.open(path, "w:gz") as tar:
        for name, data in files.items():
            info = tarfile.TarInfo(f"package/{name}")
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))


def nested(state: dict[str, torch.Tensor]) -> dict[str, dict[str, torch.Tensor]]:
    """Kokoro's own layout: submodule to state dict, with the prefix DataParallel left."""
    out: dict[str, dict[str, torch.Tensor]] = {}
    for key, tensor in state.items():
        module, _, rest = key.partition(".")
        out.setdefault(module, {})[f"module.{rest}"] = tensor
    return out
