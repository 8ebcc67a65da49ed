"""Weights from a file the user supplies, with a folder of voices."""

from __future__ import annotations

import json
from pathlib import Path

from kokoro_tvm.model._digest import check_sha256
from kokoro_tvm.model._state import read_state
from kokoro_tvm.model.kokoro import expected_shapes
from kokoro_tvm.model.sources._material import Log, Material, SourceUnavailableError
from kokoro_tvm.model.voices import read_voices
from kokoro_tvm.recipe.checkpoint import FileSource

__all__ = ["load_file"]


def load_file(source: FileSource, config: bytes, root: Path, log: Log) -> Material:
    """Reads a .pth, .safetensors or .onnx file and the voices beside it (or where the source says)."""
    path = root / source.path
    if not path.is_file():
        raise SourceUnavailableError(f"there is no file {source.path}")
    folder = root / source.voices if source.voices is not None else path.parent / "voices"
    if not folder.is_dir():
        raise SourceUnavailableError(
            f"there is no folder of voices {folder}; put NAME.pt or NAME.bin files there, or say where "
            "they are with `voices:`"
        )
    check_sha256(path, source.sha256, source.path)
    log(f"reading {source.path}")
    state = read_state(path, expected_shapes(json.loads(config)))
    return Material(state=state, voices=read_voices(folder), config=config, sha256=source.sha256)
