"""The files of a checkpoint folder; equal content gives equal bytes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from kokoro_tvm.model.safetensors_file import write_safetensors

FILES = ("weights.safetensors", "voices.safetensors", "config.json", "checkpoint.json")


def write_checkpoint(
    folder: Path,
    state: Mapping[str, torch.Tensor],
    voices: Mapping[str, torch.Tensor],
    config: bytes,
    yielded: Mapping[str, Any],
) -> None:
    """Write `FILES`, checkpoint.json last.

    The metadata of weights.safetensors are `sha256`, of the source file (of the values if they are
    synthetic), and `synthetic`, "true" or "false". The metadata of voices.safetensors are `sha256`, of the
    values.

    Args:
        folder: Folder to write to.
        state: The complete stock state dict, float32.
        voices: Name to float32 (510, 256).
        config: Content of config.json.
        yielded: Content of checkpoint.json, one of `kokoro_tvm.model.yields`.
    """
    synthetic = yielded["format"] == "synthetic"
    sha256 = hash_values(state) if synthetic else yielded["weights"]
    metadata = {"sha256": sha256, "synthetic": "true" if synthetic else "false"}
    write_safetensors(folder / "weights.safetensors", state, metadata)
    write_safetensors(folder / "voices.safetensors", voices, {"sha256": hash_values(voices)})
    (folder / "config.json").write_bytes(config)
    text = json.dumps(yielded, indent=2, sort_keys=True) + "\n"
    (folder / "checkpoint.json").write_text(text, encoding="utf-8")


def is_checkpoint(folder: Path) -> bool:
    """Return whether a folder has all files of a checkpoint."""
    return all((Path(folder) / name).is_file() for name in FILES)


def hash_values(tensors: Mapping[str, torch.Tensor]) -> str:
    """Return the SHA-256 of all values as little-endian float32, in the order of the mapping."""
    digest = hashlib.sha256()
    for tensor in tensors.values():
        digest.update(tensor.numpy().astype("<f4", copy=False).tobytes())
    return digest.hexdigest()
