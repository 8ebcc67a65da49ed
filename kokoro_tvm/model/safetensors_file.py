"""Writes safetensors files whose bytes depend on nothing but their content.

The library's own writer puts the metadata in an order that changes from process to process; digests of what
we store would change with it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import torch

__all__ = ["write_safetensors"]


def write_safetensors(path: Path, tensors: Mapping[str, torch.Tensor], metadata: Mapping[str, str]) -> None:
    """Writes float32 tensors in the given order (format: huggingface.co/docs/safetensors, "Format")."""
    header: dict[str, object] = {"__metadata__": dict(sorted(metadata.items()))}
    offset = 0
    for name, tensor in tensors.items():
        if tensor.dtype != torch.float32:
            raise TypeError(f"{name}: float32 expected, got {tensor.dtype}")
        end = offset + tensor.numel() * 4
        header[name] = {"dtype": "F32", "shape": list(tensor.shape), "data_offsets": [offset, end]}
        offset = end
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with path.open("wb") as file:
        file.write(len(text).to_bytes(8, "little"))
        file.write(text)
        for tensor in tensors.values():
            file.write(tensor.detach().cpu().contiguous().numpy().astype("<f4", copy=False).tobytes())
