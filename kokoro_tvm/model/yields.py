"""Yields of a checkpoint's sources: everything that determines the stored bytes, and nothing else.

Two sources that give the same bytes have the same yield. The place of a file, the order of the sources and
other sources of a recipe are not part of it, so that they change no key. This module does not import torch.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any

from kokoro_tvm.recipe.checkpoint import (
    Checkpoint,
    FileSource,
    HuggingFaceSource,
    NpmSource,
    Source,
    SyntheticSource,
)


def yields(checkpoint: Checkpoint) -> tuple[dict[str, Any], ...]:
    """Return the distinct yields of all sources, in the order of the sources."""
    candidates = [compute_yield(checkpoint, source) for source in checkpoint.sources]
    return tuple(value for index, value in enumerate(candidates) if value not in candidates[:index])


def compute_yield(checkpoint: Checkpoint, source: Source) -> dict[str, Any]:
    """Return the yield of a source: SHA-256 and format of its weights, the voices, the configuration.

    The yield of a synthetic source is what it is drawn from.
    """
    config = {"config": checkpoint.config.sha256}
    if isinstance(source, SyntheticSource):
        return config | {"format": "synthetic", "size": source.size, "seed": source.seed}
    file, sha256 = _weights(source)
    voices = checkpoint.voices.model_dump(mode="json", exclude_defaults=True)
    return config | {"format": PurePosixPath(file).suffix[1:], "weights": sha256, "voices": voices}


def list_converters(yielded: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the names, "module:name", of the functions that convert a source's files to the stored files."""
    if yielded["format"] == "synthetic":
        return "kokoro_tvm.model.synthetic:draw", "kokoro_tvm.model.checkpoint_files:write_checkpoint"
    return (
        f"kokoro_tvm.model.formats.{yielded['format']}:read",
        "kokoro_tvm.model.kokoro:list_shapes",
        "kokoro_tvm.model.state:complete_state",
        "kokoro_tvm.model.checkpoint_files:write_checkpoint",
    )


def _weights(source: HuggingFaceSource | NpmSource | FileSource) -> tuple[str, str]:
    """Return name and SHA-256 of a source's file of weights."""
    if isinstance(source, HuggingFaceSource):
        return source.weights.file, source.weights.sha256
    if isinstance(source, NpmSource):
        return "joined.onnx", source.shards.sha256
    return source.path, source.sha256
